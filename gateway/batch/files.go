package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrFileTooLarge says that a file is over the limit.
var ErrFileTooLarge = errors.New("the file is too large")

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

func (s *Store) putContent(ctx context.Context, id string, content *limitedReader) (int64, error) {
	b, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	info, err := b.files.Put(ctx, jetstream.ObjectMeta{Name: id}, content)
	switch {
	case content.over:
		return 0, ErrFileTooLarge
	case err != nil:
		return 0, fmt.Errorf("put the file %s: %w", id, err)
	}
	return int64(info.Size), nil
}

// Register makes a file known.
func (s *Store) Register(ctx context.Context, f File) error {
	b, err := s.open(ctx)
	if err != nil {
		return err
	}
	if _, err := b.records.Put(ctx, fileKey(f.Owner, f.ID), encode(f)); err != nil {
		return fmt.Errorf("put the file %s: %w", f.ID, err)
	}
	return nil
}

// Drop removes the content of a file that is not known.
func (s *Store) Drop(ctx context.Context, id string) error {
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

// File is what is known of a file; ErrNotFound when there is none.
func (s *Store) File(ctx context.Context, owner, id string) (f File, err error) {
	b, err := s.open(ctx)
	if err != nil {
		return f, err
	}
	_, err = s.get(ctx, b.records, fileKey(owner, id), &f)
	return f, err
}

// Open reads a file; ErrNotFound when there is none. The caller closes it.
func (s *Store) Open(ctx context.Context, owner, id string) (io.ReadCloser, error) {
	b, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := b.files.Get(ctx, id)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, s.gone(ctx, b, owner, id)
	}
	if err != nil {
		return nil, fmt.Errorf("open the file %s: %w", id, err)
	}
	return r, nil
}

// DeleteFile removes a file; ErrNotFound when there is none, ErrInUse while a batch
// reads it.
func (s *Store) DeleteFile(ctx context.Context, owner, id string) error {
	if _, err := s.File(ctx, owner, id); err != nil {
		return err
	}
	b, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := s.unused(ctx, b, owner, id); err != nil {
		return err
	}
	if err := b.records.Purge(ctx, fileKey(owner, id)); err != nil {
		return fmt.Errorf("delete the file %s: %w", id, err)
	}
	return s.Drop(ctx, id)
}

// unused is ErrInUse when a batch that has not ended reads a file.
func (s *Store) unused(ctx context.Context, b *buckets, owner, id string) error {
	active, err := list(ctx, b.records, activeKey("*"))
	if err != nil {
		return err
	}
	for _, a := range active {
		var rec Batch
		_, err := s.get(ctx, b.records, batchKey(owner, a), &rec)
		switch {
		case errors.Is(err, ErrNotFound): // it is another owner's
		case err != nil:
			return err
		case rec.Input == id && !rec.Status.Ended():
			return ErrInUse
		}
	}
	return nil
}

// Page says which part of a list is wanted.
type Page struct {
	After string // the id before the first one; "" from the newest
	Limit int
}

// cut is the page's part of ids, which run from the newest, and whether more follow.
func (p Page) cut(ids []string) (part []string, more bool) {
	from := 0
	if p.After != "" {
		for from < len(ids) && ids[from] >= p.After {
			from++
		}
	}
	to := min(from+p.Limit, len(ids))
	return ids[from:to], to < len(ids)
}

// Files lists an owner's files, the newest first.
func (s *Store) Files(ctx context.Context, owner string, p Page) (files []File, more bool, err error) {
	return records[File](ctx, s, fileKey(owner, "*"), func(id string) string { return fileKey(owner, id) }, p)
}

// Batches lists an owner's batches, the newest first.
func (s *Store) Batches(ctx context.Context, owner string, p Page) (batches []Batch, more bool, err error) {
	return records[Batch](ctx, s, batchKey(owner, "*"), func(id string) string { return batchKey(owner, id) }, p)
}

func records[T any](ctx context.Context, s *Store, filter string, key func(string) string, p Page) (found []T, more bool, err error) {
	b, err := s.open(ctx)
	if err != nil {
		return nil, false, err
	}
	ids, err := list(ctx, b.records, filter)
	if err != nil {
		return nil, false, err
	}
	ids, more = p.cut(ids)
	for _, id := range ids {
		var r T
		if _, err := s.get(ctx, b.records, key(id), &r); errors.Is(err, ErrNotFound) {
			continue // deleted meanwhile
		} else if err != nil {
			return nil, false, err
		}
		found = append(found, r)
	}
	return found, more, nil
}
