package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// change is one change of the machine, with all that is needed to undo it. A line of the journal is one of these in JSON.
type change struct {
	ID        int    `json:"id"`
	Done      bool   `json:"done,omitempty"` // the change of that ID is undone
	Kind      string `json:"kind,omitempty"`
	Interface string `json:"interface,omitempty"`
	// Index of the interface: another one of the same name is not touched.
	Index int `json:"index,omitempty"`
	// MAC of a bridge that is created, which proves that it is this one.
	MAC         string `json:"mac,omitempty"`
	Bridge      string `json:"bridge,omitempty"` // of a member
	Address     string `json:"address,omitempty"`
	Destination string `json:"destination,omitempty"`
	Gateway     string `json:"gateway,omitempty"`
	// Boot and Namespace are where it was created. It ends with either.
	Boot      string `json:"boot,omitempty"`
	Namespace uint64 `json:"namespace,omitempty"`
}

// The kinds of changes.
const (
	changeBridge  = "bridge"  // Interface was created, with MAC
	changeMember  = "member"  // Interface joined Bridge
	changeUp      = "up"      // Interface was down and is up
	changeAddress = "address" // Interface got Address
	changeRoute   = "route"   // through Interface to Destination, by Gateway
)

// journal is a file of changes that are to be undone. Lines are appended and
// synced; a torn last line belongs to a change that was never applied. The file is
// locked as long as it is open. A nil journal keeps nothing.
type journal struct {
	file *os.File
	open int // changes that are not undone
}

const journalLimit = 4 << 20

// openJournal opens or creates the file and returns the changes in it, oldest first.
func openJournal(path string) (*journal, []change, error) {
	if path == "" {
		return nil, nil, nil
	}
	file, err := lockJournal(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open journal %q: %w", path, err)
	}
	left, err := readJournal(file)
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("open journal %q: %w", path, err)
	}
	return &journal{file: file, open: len(left)}, left, nil
}

// lockJournal opens or creates the file, for one process at a time.
func lockJournal(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if err := trusted(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("another host uses it: %w", multilink.ErrDuplicate)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		// The process that held the lock may have removed it before this one got the lock.
		opened, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if named, err := os.Lstat(path); err == nil && os.SameFile(opened, named) {
			return file, nil
		}
		file.Close()
	}
}

// trusted returns an error for a journal that another user may have written: its
// lines cause changes of the machine, and the file is emptied.
func trusted(file *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return err
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 1:
		return fmt.Errorf("it must be a regular file with this name alone: %w", multilink.ErrDenied)
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to the user %d: %w", stat.Uid, multilink.ErrDenied)
	case stat.Mode&0o022 != 0:
		return fmt.Errorf("others may write to it: %w", multilink.ErrDenied)
	}
	return nil
}

func readJournal(file *os.File) ([]change, error) {
	// The name must survive a crash, or the content does not.
	if err := syncFolder(filepath.Dir(file.Name())); err != nil {
		return nil, err
	}
	if err := file.Chmod(0o600); err != nil {
		return nil, err
	}
	return decodeJournal(io.LimitReader(file, journalLimit))
}

// decodeJournal returns the changes that are not undone.
func decodeJournal(r io.Reader) ([]change, error) {
	var left []change
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return left, nil
		}
		if err != nil {
			return nil, err
		}
		var c change
		if json.Unmarshal(line, &c) != nil {
			continue // torn, and something was appended after it
		}
		if !c.Done {
			left = append(left, c)
			continue
		}
		for i := range left {
			if left[i].ID == c.ID {
				left = append(left[:i], left[i+1:]...)
				break
			}
		}
	}
}

// record writes a change that is about to be applied.
func (j *journal) record(c change) error {
	if j == nil {
		return nil
	}
	if err := j.write(c); err != nil {
		return err
	}
	j.open++
	return nil
}

// forget writes that a change is undone.
func (j *journal) forget(c change) error {
	if j == nil {
		return nil
	}
	j.open--
	if j.open > 0 {
		return j.write(change{ID: c.ID, Done: true})
	}
	if err := j.file.Truncate(0); err != nil {
		return fmt.Errorf("empty journal: %w", err)
	}
	return j.sync()
}

func (j *journal) write(c change) error {
	line, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	// A line break in front ends what a crash may have torn.
	if _, err := j.file.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if _, err := j.file.Write(append(append([]byte{'\n'}, line...), '\n')); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return j.sync()
}

func (j *journal) sync() error {
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	return nil
}

// close closes the file, and removes it when there is nothing to undo.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	var err error
	if j.open == 0 {
		err = os.Remove(j.file.Name())
	}
	return errors.Join(err, j.file.Close())
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
