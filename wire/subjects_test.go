package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

func TestNamespaces(t *testing.T) {
	for _, bad := range []string{"a.b", "*", ">", " ", "a b", "$JS", "é", strings.Repeat("a", 65)} {
		if _, err := wire.NewNames(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	blue, err := wire.NewNames("blue")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{blue.Namespace(), blue.StreamREQ(), blue.Req("a"), blue.ReqPinned("a", "w"), blue.Work("w", 7), blue.Res(9), blue.Epoch(63), blue.CtlModels()}
	want := []string{"blue", "blue_REQ", "blue.req.a", "blue.req.a.w", "blue.work.w.7", "blue.res.9", "blue.epoch.63", "blue.ctl.models"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSplit(t *testing.T) {
	for _, namespace := range []string{"", "blue"} {
		n, err := wire.NewNames(namespace)
		if err != nil {
			t.Fatal(err)
		}
		if class, worker, ok := n.SplitReq(n.Req("a")); class != "a" || worker != "" || !ok {
			t.Errorf("%q %q %v", class, worker, ok)
		}
		if class, worker, ok := n.SplitReq(n.ReqPinned("a", "w")); class != "a" || worker != "w" || !ok {
			t.Errorf("%q %q %v", class, worker, ok)
		}
		if worker, inc, ok := n.SplitWork(n.Work("w", 1795977623815434)); worker != "w" || inc != 1795977623815434 || !ok {
			t.Errorf("%q %d %v", worker, inc, ok)
		}
		for _, subject := range []string{n.Res(7), n.Verdict(7)} {
			if id, ok := n.SplitID(subject); id != 7 || !ok {
				t.Errorf("%s: %d %v", subject, id, ok)
			}
		}
		for _, bad := range []string{"", "req", "blue", "green.req.a", n.Req(""), n.ReqPinned("a", "")} {
			if _, _, ok := n.SplitReq(bad); ok {
				t.Errorf("%q was taken as a request", bad)
			}
		}
		for _, bad := range []string{"", n.Res(1), n.Req("a"), strings.TrimSuffix(n.Work("w", 1), ".1"), n.Work("w", 1) + "x"} {
			if _, _, ok := n.SplitWork(bad); ok {
				t.Errorf("%q was taken as a claim", bad)
			}
		}
		if _, ok := n.SplitID(n.Res(1) + "x"); ok {
			t.Error("an id that is no number was taken")
		}
	}
}
