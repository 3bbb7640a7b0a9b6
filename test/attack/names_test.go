package attack_test

import (
	"archive/tar"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// hostileNames are names that mean something else to a browser, a header field, or a file system, as
// they are written in an address.
var hostileNames = []string{
	"%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%22%20onload=%22alert(1)", "x%0d%0aSet-Cookie:%20stolen=1", "..%2f..%2f..%2fetc%2fpasswd",
	"%2e%2e", "%00", "x%00.html", "%E2%80%AEtxt.exe", "%ff%fe", "-rf", "$(id)", "%7B%7B1234*4321%7D%7D", "CON", strings.Repeat("n", 8<<10),
	"%5c..%5c..", "javascript:alert(1)", "%7B%22$gt%22:%22%22%7D", "a'%20or%20'1'='1",
}

// TestNames_hostile_breakNoAnswer stores under names that are attacks, and reads what is stored, as
// pages, lists and header fields. No file appears beside the data of the server.
func TestNames_hostile_breakNoAnswer(t *testing.T) {
	eachListener(t, func(t *testing.T, p *process, at string) {
		all := operations(t, at)
		for _, name := range hostileNames {
			for _, write := range []bool{true, false} {
				for _, o := range all {
					reads := o.method == http.MethodGet || o.method == http.MethodHead
					if reads == write || o.path == "/.enablers/backup" || o.method == http.MethodDelete || strings.Contains(o.pattern, "events") {
						continue
					}
					target := parameter.ReplaceAllLiteralString(o.pattern, name)
					body := `{"name":"` + strings.NewReplacer("%22", `\"`, "%3C", "<", "%3E", ">", "%2F", "/").Replace(name) + `"}`
					if reads {
						body = ""
					}
					a := send(t, o.method+" "+at+target, p.tokens[httpapi.Admin], body, "Content-Type: application/json", "Accept: text/html")
					require.True(t, o.isHandled(a), "%s with %.60s: %d %s", o, name, a.status, a.body)
					require.NotContains(t, a.header.Get("Set-Cookie"), "stolen", o)
					if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
						require.NotContains(t, a.body, "<script>alert", o)
						require.NotContains(t, a.body, `" onload="`, o)
					}
					require.NotContains(t, a.body, "root:x:", o)
					require.NotContains(t, a.body, "5332114", "%s evaluates a name", o) // 1234 * 4321
					if to := a.header.Get("Location"); to != "" {
						require.NotContains(t, to, "\n", o)
						require.False(t, leadsElsewhere(to), "%s leads to %s", o, to)
					}
				}
			}
		}
		p.ownsItsFolder(t)
	})
}

// ownsItsFolder checks that nothing was written beside the data folder, and nothing in it for others.
func (p *process) ownsItsFolder(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(p.dir)
	require.NoError(t, err)
	for _, entry := range entries {
		require.Contains(t, []string{"data", "tokens", "log"}, entry.Name(), "a file appeared beside the data")
	}
	require.NoError(t, filepath.WalkDir(filepath.Join(p.dir, "data"), func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		if os.IsNotExist(err) {
			return nil // it was temporary
		}
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s can be read by other users: %v", path, info.Mode())
		return nil
	}))
}

// TestNames_archives_leaveNoFolder imports archives whose members are paths out of the folder, links,
// and devices, into the model repository.
func TestNames_archives_leaveNoFolder(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		if c.name != "modelrepo" && c.name != "enablers" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.start(t)
			at := p.at[""] + p.at["model repository"]
			outside := filepath.Join(p.dir, "outside")
			for _, member := range []tar.Header{
				{Name: "../outside", Typeflag: tar.TypeReg}, {Name: outside, Typeflag: tar.TypeReg},
				{Name: "blobs/../../../outside", Typeflag: tar.TypeReg},
				{Name: "blobs", Typeflag: tar.TypeSymlink, Linkname: p.dir},
				{Name: "blobs/sha256/x", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
				{Name: "index.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
				{Name: "oci-layout", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
				{Name: "oci-layout", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{"path": "../../outside"}},
			} {
				var text strings.Builder
				w := tar.NewWriter(&text)
				require.NoError(t, w.WriteHeader(&member))
				require.NoError(t, w.Close())
				for _, path := range []string{"/x/", "/x/some"} {
					a := send(t, "POST "+at+path, p.tokens[httpapi.Admin], text.String(), "Content-Type: application/x-tar")
					require.True(t, a.status >= 400 && a.status < 500, "%s: %d %s", member.Name, a.status, a.body)
					require.NotContains(t, a.body, "root:x:")
				}
			}
			require.NoFileExists(t, outside)
			p.ownsItsFolder(t)
		})
	}
}
