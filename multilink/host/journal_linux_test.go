package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

func TestJournal_keepsWhatIsNotUndone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, left, err := openJournal(path)
	require.NoError(t, err)
	require.Empty(t, left)
	changes := []change{{ID: 1, Kind: changeBridge, Interface: "br0"}, {ID: 2, Kind: changeUp, Interface: "a"},
		{ID: 3, Kind: changeUp, Interface: "b"}}
	for _, c := range changes {
		require.NoError(t, j.record(c))
	}
	require.NoError(t, j.forget(changes[1]))
	_, _, err = openJournal(path)
	require.ErrorIs(t, err, multilink.ErrDuplicate)
	require.NoError(t, j.close())
	require.FileExists(t, path, "there is something to undo")

	j, left, err = openJournal(path)
	require.NoError(t, err)
	require.Equal(t, []change{changes[0], changes[2]}, left)
	for _, c := range left {
		require.NoError(t, j.forget(c))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Zero(t, info.Size(), "it does not grow for ever")
	require.NoError(t, j.close())
	require.NoFileExists(t, path)
}

func TestOpenJournal_refusesAFileOfAnotherOwner(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	write := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("{\"id\":1,\"kind\":\"up\",\"interface\":\"eth0\"}\n"), 0o644))
		return path
	}
	write("victim")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(victim, link))
	_, _, err := openJournal(link)
	require.ErrorIs(t, err, unix.ELOOP)
	require.NoError(t, os.Symlink(filepath.Join(dir, "new"), filepath.Join(dir, "dangling")))
	_, _, err = openJournal(filepath.Join(dir, "dangling"))
	require.ErrorIs(t, err, unix.ELOOP)
	require.NoFileExists(t, filepath.Join(dir, "new"))

	require.NoError(t, os.Link(victim, filepath.Join(dir, "second")))
	_, _, err = openJournal(victim)
	require.ErrorIs(t, err, multilink.ErrDenied)
	info, err := os.Stat(victim)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "it is left alone")

	writable := write("writable")
	require.NoError(t, os.Chmod(writable, 0o666))
	_, _, err = openJournal(writable)
	require.ErrorIs(t, err, multilink.ErrDenied)

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	_, _, err = openJournal(pipe)
	require.ErrorIs(t, err, multilink.ErrDenied)

	if os.Geteuid() == 0 {
		foreign := write("foreign")
		require.NoError(t, os.Chown(foreign, 65534, 65534))
		_, _, err = openJournal(foreign)
		require.ErrorIs(t, err, multilink.ErrDenied)
		require.ErrorContains(t, err, "65534")
	}
}

func TestOpenJournal_readsPastATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(path, []byte("{\"id\":1,\"kind\":\"up\"}\n{\"id\":2,\"ki"), 0o644))
	j, left, err := openJournal(path)
	require.NoError(t, err)
	require.Equal(t, []change{{ID: 1, Kind: changeUp}}, left)
	require.NoError(t, j.record(change{ID: 3, Kind: changeUp}))
	require.NoError(t, j.close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, left, err = openJournal(path)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

func TestChange_isGoneAfterABootOrInAnotherNamespace(t *testing.T) {
	h := &Host{boot: "now", namespace: &namespace{inode: 7}} // without netlink: asking would panic
	require.NoError(t, h.undo(change{Kind: changeUp, Interface: "eth0", Boot: "before", Namespace: 7}))
	require.NoError(t, h.undo(change{Kind: changeUp, Interface: "eth0", Boot: "now", Namespace: 8}))
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"kind\":\"up\"}\n\n{\"id\":1,\"done\":true}\n"))
	f.Add([]byte("{\"id\":1}\nnull\n7\n{\"id\":1}\n{\"id\":1,\"done\":true}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		left, err := decodeJournal(bytes.NewReader(text))
		require.NoError(t, err)
		require.LessOrEqual(t, len(left), strings.Count(string(text), "\n"))
		for _, c := range left {
			require.False(t, c.Done)
			_, _ = parseRoute(c, nil)
		}
	})
}
