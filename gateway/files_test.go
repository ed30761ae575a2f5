package gateway_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/gateway"
	"fairlead/gateway/batch"
)

// form is a file with so many bytes, as a browser would send it.
func form(t *testing.T, size int) (contentType, body string) {
	t.Helper()
	var b strings.Builder
	f := multipart.NewWriter(&b)
	must(t, f.WriteField("purpose", "batch"))
	w, err := f.CreateFormFile("file", "input.jsonl")
	must(t, err)
	_, err = io.WriteString(w, strings.Repeat("x", size))
	must(t, err)
	must(t, f.Close())
	return f.FormDataContentType(), b.String()
}

// Nothing is left of a file whose client hangs up, before the end of the file or
// of the form; and a client is told when there is no room.
func TestFileNotTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	g := r.gateway(gateway.Config{Class: "regular", Batches: batch.Limits{AllFiles: 1 << 20}})
	js, err := jetstream.New(r.connect())
	must(t, err)
	pieces := func() uint64 {
		s, err := js.Stream(r.ctx, "OBJ_FILES")
		if err != nil {
			return 0 // it is created at the first use
		}
		info, err := s.Info(r.ctx, jetstream.WithSubjectFilter("$O.FILES.C.>"))
		must(t, err)
		var n uint64
		for _, msgs := range info.State.Subjects {
			n += msgs
		}
		return n
	}
	contentType, body := form(t, 1<<18)
	for name, sent := range map[string]int{"in the file": len(body) / 2, "after the file": len(body) - 4} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		must(t, err)
		_, err = fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body[:sent])
		must(t, err)
		r.until(name+": some of it is kept", func() bool { return pieces() > 0 })
		must(t, conn.Close())
		r.until(name+": nothing is left", func() bool { return pieces() == 0 })
	}
	contentType, body = form(t, 1<<20)
	got := g.do(http.MethodPost, "/v1/files", body, "Content-Type: "+contentType)
	if got.status != http.StatusInsufficientStorage || got.errorOf(t).Code != "queue_full" {
		t.Errorf("a file that there is no room for: %d %s", got.status, got.body)
	}
	if n := pieces(); n != 0 {
		t.Errorf("%d pieces are left of it", n)
	}
}
