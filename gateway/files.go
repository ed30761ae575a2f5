package gateway

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"time"

	"fairlead/gateway/batch"
	"fairlead/wire"
)

// handleBatches adds the paths of files and batches.
func (g *Gateway) handleBatches(mux *http.ServeMux) {
	for pattern, method := range map[string]func(*call) error{
		"POST /v1/files":             (*call).putFile,
		"GET /v1/files":              (*call).listFiles,
		"GET /v1/files/{id}":         (*call).getFile,
		"GET /v1/files/{id}/content": (*call).getContent,
		"DELETE /v1/files/{id}":      (*call).deleteFile,
	} {
		mux.Handle(pattern, g.handle("/v1/files", method))
	}
	for pattern, method := range map[string]func(*call) error{
		"POST /v1/batches":             (*call).createBatch,
		"GET /v1/batches":              (*call).listBatches,
		"GET /v1/batches/{id}":         (*call).getBatch,
		"POST /v1/batches/{id}/cancel": (*call).cancelBatch,
	} {
		mux.Handle(pattern, g.handle("/v1/batches", method))
	}
}

// owner is whose files and batches a client sees: its key's.
func (c *call) owner() string {
	if c.key == nil {
		return "_"
	}
	return c.key.Name
}

const purposeBatch = "batch"

// fileShape is OpenAI's.
type fileShape struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt int64  `json:"expires_at"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"`
}

func (c *call) shapeFile(f batch.File) fileShape {
	return fileShape{ID: f.ID, Object: "file", Bytes: f.Bytes, CreatedAt: f.CreatedAt, ExpiresAt: f.CreatedAt + int64(c.batches.Keep().Seconds()),
		Filename: f.Name, Purpose: f.Purpose, Status: "processed"}
}

// told is what an error of the batches' store says to the client.
func told(err error, what string) error {
	switch {
	case errors.Is(err, batch.ErrNotFound):
		return &fault{status: http.StatusNotFound, code: codeNotFound, message: "there is no " + what}
	case errors.Is(err, batch.ErrFileTooLarge):
		return reasoned(wire.TooLarge, "the file is over the limit; split it")
	case errors.Is(err, batch.ErrFull):
		return &fault{status: http.StatusInsufficientStorage, code: string(wire.QueueFull), message: "the files that are kept leave no room for this one; delete some, or wait until they expire"}
	case errors.Is(err, batch.ErrEnded):
		return &fault{status: http.StatusConflict, code: codeConflict, message: what + " has ended already"}
	case errors.Is(err, batch.ErrInUse):
		return &fault{status: http.StatusConflict, code: codeConflict, message: "a batch that has not ended uses the file; wait for it, or cancel it"}
	}
	return err
}

// putFile takes a file of lines, part by part: nothing of it is kept in memory.
func (c *call) putFile() error {
	form, err := c.r.MultipartReader()
	if err != nil {
		return reasoned(wire.InvalidRequest, "body: want multipart/form-data with the fields purpose and file: %v", err)
	}
	f, err := c.readForm(form)
	if err == nil {
		err = c.checkFile(f)
	}
	if err != nil {
		if f.ID != "" {
			_ = c.batches.Drop(c.ctx(), f.ID) // else it expires
		}
		return err
	}
	if err := c.batches.Register(c.ctx(), f); err != nil {
		return err
	}
	return c.json(http.StatusOK, c.shapeFile(f))
}

func (c *call) checkFile(f batch.File) error {
	switch {
	case f.Purpose != purposeBatch:
		return &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: "purpose", message: fmt.Sprintf("purpose: %q; want %q", f.Purpose, purposeBatch)}
	case f.ID == "":
		return &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: "file", message: "file: is missing; want the lines of a batch"}
	}
	return nil
}

// maxField is the longest field of a form but the file, bytes.
const maxField = 4 << 10

func (c *call) readForm(form *multipart.Reader) (f batch.File, err error) {
	_ = c.rc.SetReadDeadline(time.Now().Add(c.cfg.BodyTimeout)) // fails only where there are no deadlines
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			_ = c.rc.SetReadDeadline(time.Time{})
			return f, nil
		}
		if err != nil {
			return f, c.uploadError(err)
		}
		switch part.FormName() {
		case "purpose":
			text, err := io.ReadAll(io.LimitReader(part, maxField))
			if err != nil {
				return f, c.uploadError(err)
			}
			f.Purpose = string(text)
		case "file":
			if f.ID != "" {
				return f, reasoned(wire.InvalidRequest, "file: is there twice; want one")
			}
			got, err := c.batches.PutContent(c.ctx(), patient{c, part})
			if err != nil {
				return f, told(c.uploadError(err), "file")
			}
			f.ID, f.Bytes, f.CreatedAt = got.ID, got.Bytes, got.CreatedAt
			f.Name, f.Owner = part.FileName(), c.owner()
			c.metrics.bytes.WithLabelValues("in").Add(float64(f.Bytes))
		}
	}
}

// patient gives a client the same time again for every piece of a long body.
type patient struct {
	c *call
	r io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.c.rc.SetReadDeadline(time.Now().Add(p.c.cfg.BodyTimeout)) // as above
	return p.r.Read(b)
}

func (c *call) uploadError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.w.Header().Set("Connection", "close")
		return &fault{status: http.StatusRequestTimeout, code: codeBodyTimeout, message: "nothing of the body arrived for " + c.cfg.BodyTimeout.String()}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return reasoned(wire.InvalidRequest, "body: ends in the middle of a part")
	}
	return err
}

func (c *call) getFile() error {
	f, err := c.batches.File(c.ctx(), c.owner(), c.r.PathValue("id"))
	if err != nil {
		return told(err, "such file")
	}
	return c.json(http.StatusOK, c.shapeFile(f))
}

func (c *call) deleteFile() error {
	id := c.r.PathValue("id")
	if err := c.batches.DeleteFile(c.ctx(), c.owner(), id); err != nil {
		return told(err, "such file")
	}
	return c.json(http.StatusOK, map[string]any{"id": id, "object": "file", "deleted": true})
}

func (c *call) listFiles() error {
	p, err := c.page()
	if err != nil {
		return err
	}
	files, more, err := c.batches.Files(c.ctx(), c.owner(), p)
	if err != nil {
		return err
	}
	data := make([]fileShape, 0, len(files))
	for i := range files {
		data = append(data, c.shapeFile(files[i]))
	}
	return c.json(http.StatusOK, listShape(data, func(f fileShape) string { return f.ID }, more))
}

// listShape is OpenAI's page of a list.
func listShape[T any](data []T, id func(T) string, more bool) map[string]any {
	out := map[string]any{"object": "list", "data": data, "has_more": more, "first_id": nil, "last_id": nil}
	if len(data) > 0 {
		out["first_id"], out["last_id"] = id(data[0]), id(data[len(data)-1])
	}
	return out
}

// Pages of lists.
const (
	pageDefault = 20
	pageMax     = 100
)

func (c *call) page() (batch.Page, error) {
	p := batch.Page{After: c.r.URL.Query().Get("after"), Limit: pageDefault}
	s := c.r.URL.Query().Get("limit")
	if s == "" {
		return p, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return p, &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: "limit", message: "limit: want a number from 1; more than " + strconv.Itoa(pageMax) + " are not given at once"}
	}
	p.Limit = min(n, pageMax)
	return p, nil
}

// getContent sends a file, piece by piece.
func (c *call) getContent() error {
	f, err := c.batches.File(c.ctx(), c.owner(), c.r.PathValue("id"))
	if err != nil {
		return told(err, "such file")
	}
	content, err := c.batches.Open(c.ctx(), f.Owner, f.ID)
	if err != nil {
		return told(err, "such file")
	}
	defer content.Close()
	h := c.w.Header()
	h.Set("Content-Type", "application/jsonl")
	h.Set("Content-Length", strconv.FormatInt(f.Bytes, 10))
	c.status = http.StatusOK
	n, err := io.Copy(piecewise{c}, content)
	c.metrics.bytes.WithLabelValues("out").Add(float64(n))
	if err != nil {
		return errGone // the length tells the client that something is missing
	}
	return nil
}

// piecewise gives every piece of a long answer the time of one write.
type piecewise struct{ c *call }

func (p piecewise) Write(b []byte) (int, error) {
	p.c.deadline()
	return p.c.w.Write(b)
}
