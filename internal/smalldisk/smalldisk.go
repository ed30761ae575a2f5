// Package smalldisk makes small file systems in memory and fills them, for tests
// of what happens when a disk is full. It needs the right to mount.
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Mount makes a file system of some bytes at a folder. Where that is not allowed,
// which is usual without root, it says why.
func Mount(dir string, bytes int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(bytes)); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	return nil
}

// Unmount removes it, as soon as nobody has a file open there.
func Unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

const filler = "filler"

// Fill leaves no byte free.
func Fill(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, filler), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Free takes back what [Fill] wrote.
func Free(dir string) error { return os.Remove(filepath.Join(dir, filler)) }
