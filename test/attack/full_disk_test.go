//go:build linux

package attack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	name, method, path, content string
	body                        func(n int) string
	header                      []string
	read                        string
}

func storings() []storing {
	long := strings.Repeat("x", 8<<10)
	return []storing{
		{
			name: "annotator", method: http.MethodPost, path: "/annotations", content: "application/json", read: "/annotations",
			body: func(n int) string {
				text, _ := json.Marshal(map[string]any{
					"name": fmt.Sprint("m", n, long), "inputFormat": "JSON", "outputFormat": "TTL", "rml": secretMapping,
				})
				return string(text)
			},
		},
		{
			name: "modelrepo", method: http.MethodPost, path: "/name%d", content: "application/json", read: "/",
			body: func(int) string { return `{"metadata":{"text":"` + long[:1000] + `"}}` },
		},
		{
			name: "flcollector", method: http.MethodPost, path: "/model", content: "application/json", read: "/model",
			body: func(n int) string {
				return fmt.Sprintf(`{"model_name":"m%d","model_version":"1","meta":{"library":"keras","description":"%s"}}`, n, long)
			},
		},
		{
			name: "apimanager", method: http.MethodPost, path: "/services", content: "application/json", read: "/services",
			body: func(n int) string {
				return fmt.Sprintf(`{"name":"s%d","url":"http://127.0.0.1:1/%s","tags":["%s"]}`, n, long[:100], long[:100])
			},
		},
	}
}

func (s storing) ask(t *testing.T, method, address, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", s.content)
	}
	for i := 0; i < len(s.header); i += 2 {
		request.Header.Set(s.header[i], s.header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// write stores the thing of a number.
func (s storing) write(t *testing.T, address string, n int) (int, string) {
	t.Helper()
	path := s.path
	if strings.Contains(path, "%d") {
		path = fmt.Sprintf(path, n)
	}
	return s.ask(t, s.method, address+path, s.body(n))
}

func TestDisk_fullIsA507AndNotReadyUntilThereIsSpace(t *testing.T) {
	for _, s := range storings() {
		t.Run(s.name, func(t *testing.T) {
			disk := smallDisk(t)
			p := startStarved(t, s.name, "true", filepath.Join(disk, "data"))
			address := startedAt(p)
			if s.name == "apimanager" {
				address = (&marked{Process: p}).listener("(admin)")
			}
			status, answer := s.write(t, address, 0)
			require.Less(t, status, 300, answer)
			free := fillUp(t, disk)
			n := 1
			for ; status < 300; n++ {
				status, answer = s.write(t, address, n)
				require.Less(t, n, 10_000)
			}
			require.Equal(t, http.StatusInsufficientStorage, status, answer)
			require.Contains(t, answer, "full")
			status, answer = s.ask(t, http.MethodGet, address+"/readyz", "")
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Contains(t, answer, "no space")
			require.NotContains(t, answer, disk, "it is public")
			status, _ = s.ask(t, http.MethodGet, address+"/healthz", "")
			require.Equal(t, http.StatusOK, status)
			status, answer = s.ask(t, http.MethodGet, address+s.read, "")
			require.Equal(t, http.StatusOK, status, answer)
			if s.name == "flcollector" {
				example, err := json.Marshal((&marked{Process: p}).exampleOf(t, address, "/job/config/{id}", "post"))
				require.NoError(t, err)
				status, _ = s.ask(t, http.MethodPost, address+"/job/config/1", string(example))
				require.Equal(t, http.StatusInsufficientStorage, status)
			}
			free()
			require.Eventually(t, func() bool {
				status, _ = s.ask(t, http.MethodGet, address+"/readyz", "")
				return status == http.StatusOK
			}, time.Minute, 50*time.Millisecond)
			status, answer = s.write(t, address, n)
			require.Less(t, status, 300, answer)
			p.Stop()
		})
	}
}
