package batch

import (
	"context"
	"errors"
	"fmt"
)

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

// File is what is known of a file; ErrNotFound when there is none.
func (s *Store) File(ctx context.Context, owner, id string) (f File, err error) {
	b, err := s.open(ctx)
	if err != nil {
		return f, err
	}
	_, err = s.get(ctx, b.records, fileKey(owner, id), &f)
	return f, err
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
