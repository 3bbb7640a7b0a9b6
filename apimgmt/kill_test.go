package apimgmt_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// victimFolder is the variable that makes a test process the victim of the next
// test, and names its folder.
const victimFolder = "APIMGMT_VICTIM_FOLDER"

// onDisk opens what outlives a process that is killed.
func onDisk(t *testing.T, folder string) (stage, func()) {
	t.Helper()
	store, err := disk.Open(folder, &disk.Options{LockTimeout: 10 * time.Second})
	require.NoError(t, err)
	gateway, _ := embedded(t, storage.Prefixed(store.Documents(), "gateway/"))
	return stage{storage.Prefixed(store.Documents(), "publisher/"), store.Blobs(), gateway}, func() { require.NoError(t, store.Close()) }
}

// TestVictim publishes and deletes until it is killed, and says what it has done. It
// is no test by itself.
func TestVictim(t *testing.T) {
	folder := os.Getenv(victimFolder)
	if folder == "" {
		t.Skip("run by the test below")
	}
	s, _ := onDisk(t, folder)
	p := s.open(t, nil)
	require.NoError(t, p.Recover(t.Context()))
	fmt.Println("ready")
	for i := 0; ; i++ {
		name := fmt.Sprintf("e%d", i%3)
		version := fmt.Sprintf("%d-%d", os.Getpid(), i)
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(file(version, "/"+name, "/"+name+"/"+version))})
		require.NoError(t, err)
		fmt.Println("published", name, version)
		if i%4 == 3 {
			require.NoError(t, p.Delete(t.Context(), name, "", apimgmt.Condition{}))
			fmt.Println("deleted", name, "-")
		}
	}
}

func TestAKilledProcessLeavesNothingHalfPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes")
	}
	folder := t.TempDir()
	published := map[string]string{} // the version that was acknowledged last
	for range 8 {
		victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$", "-test.count=1")
		victim.Env = append(os.Environ(), victimFolder+"="+folder)
		output, err := victim.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, victim.Start())
		lines := bufio.NewScanner(output)
		require.True(t, lines.Scan())
		require.Equal(t, "ready", lines.Text())
		kill := time.AfterFunc(time.Duration(10+rand.IntN(80))*time.Millisecond, func() { _ = victim.Process.Kill() })
		for lines.Scan() {
			var what, name, version string
			_, err := fmt.Sscan(lines.Text(), &what, &name, &version)
			require.NoError(t, err, lines.Text())
			published[name] = strings.TrimPrefix(version, "-")
		}
		kill.Stop()
		require.ErrorContains(t, victim.Wait(), "killed")

		s, closeStore := onDisk(t, folder)
		p := s.open(t, nil)
		require.NoError(t, p.Recover(t.Context()))
		s.state(t, p)
		differ := 0
		for name, version := range published {
			r, err := p.Get(t.Context(), name)
			if err != nil {
				require.ErrorIs(t, err, apimgmt.ErrNotFound)
			}
			if r.Version.Version != version {
				differ++ // the change that was not acknowledged any more
				published[name] = r.Version.Version
			}
		}
		require.LessOrEqual(t, differ, 1)
		closeStore()
	}
}
