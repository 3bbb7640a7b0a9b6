//go:build linux

package attack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// smallDisk mounts a file system of 32 MiB, or skips the test without the right to.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fillUp leaves no space on the file system of a folder. It returns what frees it.
func fillUp(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	file, err := os.Create(name)
	require.NoError(t, err)
	for size := 1 << 20; size > 0; {
		if _, err := file.Write(make([]byte, size)); err != nil {
			require.True(t, errors.Is(err, syscall.ENOSPC), err)
			size /= 2
		}
	}
	require.NoError(t, file.Close())
	return func() { require.NoError(t, os.Remove(name)) }
}

// storing is a request that stores something, and one that reads it.
type storing struct {
	command, path string
	body          func(n int) string
	read          string
}

func storings() []storing {
	long := strings.Repeat("x", 8<<10)
	return []storing{
		{
			command: "annotator", path: "/annotations", read: "/annotations",
			body: func(n int) string {
				text, _ := json.Marshal(map[string]any{
					"name": fmt.Sprint("m", n, long), "inputFormat": "JSON", "outputFormat": "TTL", "rml": secretMapping,
				})
				return string(text)
			},
		},
		{
			command: "modelrepo", path: "/name%d", read: "/",
			body: func(int) string { return `{"metadata":{"text":"` + long[:1000] + `"}}` },
		},
		{
			command: "flcollector", path: "/model", read: "/model",
			body: func(n int) string {
				return fmt.Sprintf(`{"model_name":"m%d","model_version":"1","meta":{"library":"keras","description":"%s"}}`, n, long)
			},
		},
		{
			command: "apimanager", path: "/services", read: "/services",
			body: func(n int) string {
				return fmt.Sprintf(`{"name":"s%d","url":"http://127.0.0.1:1/%s","tags":["%s"]}`, n, long[:100], long[:100])
			},
		},
	}
}

// write stores the thing of a number.
func (s storing) write(t *testing.T, at, token string, n int) answer {
	t.Helper()
	path := s.path
	if strings.Contains(path, "%d") {
		path = fmt.Sprintf(path, n)
	}
	return send(t, "POST "+at+path, token, s.body(n), "Content-Type: application/json")
}

func TestDisk_fullIsA507AndNotReadyUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	for _, s := range storings() {
		t.Run(s.command, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t)
			p := named(s.command).run(t, options{data: filepath.Join(disk, "data"), tokens: true})
			p.awaitListeners(t)
			at, token := p.anyListener(), p.tokens[httpapi.Admin]
			if s.command == "apimanager" {
				at = p.at["admin"]
			}
			a := s.write(t, at, token, 0)
			require.Less(t, a.status, 300, a.body)
			free := fillUp(t, disk)
			n := 1
			for ; a.status < 300; n++ {
				a = s.write(t, at, token, n)
				require.Less(t, n, 10_000)
			}
			require.Equal(t, http.StatusInsufficientStorage, a.status, a.body)
			require.Contains(t, a.body, "full")
			a = send(t, "GET "+at+"/readyz", "", "")
			require.Equal(t, http.StatusServiceUnavailable, a.status)
			require.Contains(t, a.body, "no space")
			require.NotContains(t, a.body, disk, "it is public")
			require.Equal(t, http.StatusOK, send(t, "GET "+at+"/healthz", "", "").status)
			a = send(t, "GET "+at+s.read, token, "")
			require.Equal(t, http.StatusOK, a.status, a.body)
			if s.command == "flcollector" {
				a = sendJSON(t, "POST "+at+"/job/config/1", token, readExample(t, at, "/job/config/{id}", "post"))
				require.Equal(t, http.StatusInsufficientStorage, a.status)
			}
			free()
			require.Eventually(t, func() bool {
				return send(t, "GET "+at+"/readyz", "", "").status == http.StatusOK
			}, patience, 50*time.Millisecond)
			a = s.write(t, at, token, n)
			require.Less(t, a.status, 300, a.body)
			p.Stop()
		})
	}
}
