package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
)

// Why a file is not taken.
var (
	ErrFileTooLarge = errors.New("the file is too large")
	ErrFull         = errors.New("there is no room for more files")
)

// PutContent keeps the content of a file that is not known yet, as it comes, and
// returns its id and size. It must be followed by Register or Drop.
func (s *Store) PutContent(ctx context.Context, content io.Reader) (f File, err error) {
	now := time.Now()
	if f.ID, err = newID("file-", now); err != nil {
		return f, err
	}
	f.CreatedAt = now.Unix()
	f.Bytes, err = s.putContent(ctx, f.ID, &limitedReader{r: content, left: s.limits.FileBytes})
	return f, err
}

// putContent goes on until its reader ends, not its context: what was put of a file
// that breaks off must still be removed.
func (s *Store) putContent(ctx context.Context, id string, content *limitedReader) (int64, error) {
	ctx = context.WithoutCancel(ctx)
	b, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	info, err := b.files.Put(ctx, jetstream.ObjectMeta{Name: id}, content)
	switch {
	case content.over:
		return 0, ErrFileTooLarge
	case full(err):
		return 0, fmt.Errorf("put the file %s: %w: %w", id, ErrFull, err)
	case err != nil:
		return 0, fmt.Errorf("put the file %s: %w", id, err)
	}
	return int64(info.Size), nil
}

// full reports that the bucket, or the server, has no room.
func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == store.CodeStreamStoreFailed || api.ErrorCode == store.CodeStorageResources)
}

// dropTimeout bounds removing a file.
const dropTimeout = 10 * time.Second

// Drop removes the content of a file that is not known, also for a caller whose
// context has ended.
func (s *Store) Drop(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	b, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := b.files.Delete(ctx, id); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete the file %s: %w", id, err)
	}
	return nil
}

// limitedReader ends with ErrFileTooLarge beyond a limit, so that nothing of a
// longer file is kept.
type limitedReader struct {
	r    io.Reader
	left int64
	over bool
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		l.over = true
		return 0, ErrFileTooLarge
	}
	return n, err
}

// Open reads a file; ErrNotFound when there is none. The caller closes it.
func (s *Store) Open(ctx context.Context, owner, id string) (io.ReadCloser, error) {
	b, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(ctx)
	late := time.AfterFunc(openTimeout, end)
	r, err := b.files.Get(reading{life}, id)
	if !late.Stop() || err != nil {
		end()
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, s.gone(ctx, b, owner, id)
	}
	if err != nil {
		return nil, fmt.Errorf("open the file %s: %w", id, err)
	}
	return &content{ObjectResult: r, end: end}, nil
}

const (
	openTimeout  = 10 * time.Second // of opening a file
	pieceTimeout = 30 * time.Second // of waiting for its next piece
)

// reading is the context of a file that is read for as long as its reader takes. The
// object store waits for a piece until the context's deadline, so that is always a
// while away; without one all of the file would have 5 s.
type reading struct{ context.Context }

func (reading) Deadline() (time.Time, bool) { return time.Now().Add(pieceTimeout), true }

// content is a file that is being read.
type content struct {
	jetstream.ObjectResult
	end context.CancelFunc
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.ObjectResult.Read(p)
	if n == 0 && err == nil && len(p) > 0 {
		return 0, fmt.Errorf("nothing more of the file came for %v", pieceTimeout)
	}
	return n, err
}

func (c *content) Close() error {
	c.end()
	return c.ObjectResult.Close()
}
