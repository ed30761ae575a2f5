package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// diskBytes is the size of a node's small file system: JetStream's own files
// and what a run stores at any instant fit many times.
const diskBytes = 256 << 20

// mountDisk makes a small file system in memory at a folder. Where that is not
// allowed, which is usual without root, it says why.
func mountDisk(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(diskBytes)); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	return nil
}

func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

const filler = "filler"

// fillDisk leaves no byte free.
func fillDisk(dir string) error {
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

func freeDisk(dir string) error { return os.Remove(filepath.Join(dir, filler)) }
