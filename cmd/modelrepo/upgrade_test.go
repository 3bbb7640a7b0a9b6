package main

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/upgrade"
)

// The folder unowned is of a version that wrote no format.json. The folder scrubbed has a damaged content.
func TestRun_opensAFolderOfAnEarlierVersion(t *testing.T) {
	for _, version := range []string{"undivided", "unowned", "scrubbed"} {
		t.Run(version, func(t *testing.T) {
			folder := upgrade.Folder(t, version+"/modelrepo")
			for range 2 { // the second time on what the first one has written
				p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
				upgrade.Compare(t, upgrade.Comparison{Record: version + "/modelrepo", URL: p.URLs[0]})
				if version == "scrubbed" {
					upgrade.Compare(t, upgrade.Comparison{Record: "scrubbed/modelrepo-integrity", URL: p.URLs[0], Ignored: []string{"scrub"}})
				}
				p.Stop()
			}
			p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
			upgrade.Call(t, http.StatusOK, http.MethodPost, p.URLs[0]+"/acme/pump/0.2", "", "{}")
			upgrade.Call(t, http.StatusConflict, http.MethodDelete, p.URLs[0]+"/w3c/sosa/1.0/content?format=text/turtle", "", "")
			p.Stop()
			upgrade.RequireOwner(t, folder, "modelrepo")
		})
	}
}

func TestRun_keepsWhatANewerVersionStored(t *testing.T) {
	// The upload in the folder has to wait for longer than it would.
	folder := upgrade.Folder(t, "undivided/modelrepo", `"expires":"2026-`, `"expires":"9026-`)
	places := []string{
		"root", "namespace/w3c", "model/w3c/sosa", "version/w3c/sosa/2.0", "version/w3c/sosa/2.0#formats/*", "version/acme/pump/0.1",
		"version/acme/pump/0.1#formats/*", "content/cdc12c55d09f9e937d83d04489579534fc87d79d7c16653bf3967d2d4f344eed",
		"webhooks", "webhooks#hooks/*", "webhooks#hooks/*/context", "upload/*", "upload/*#options", "upload/*#parts/*",
	}
	upgrade.AddNewer(t, folder, places...)
	p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error", "-webhooks-private")
	api := p.URLs[0]
	upgrade.Call(t, http.StatusOK, http.MethodPatch, api+"/w3c", "", `{"metadata": {"owner": "OGC"}}`)
	upgrade.Call(t, http.StatusOK, http.MethodPatch, api+"/w3c/sosa", "", `{"aliases": {"stable": "2.0"}}`)
	upgrade.Call(t, http.StatusOK, http.MethodPatch, api+"/w3c/sosa/2.0", "", `{"metadata": {"kind": "new"}}`)
	upgrade.Call(t, http.StatusOK, http.MethodPost, api+"/other", "", "")
	upgrade.Call(t, http.StatusOK, http.MethodPost, api+"/h", "", `{"action": "content_upload", "callback": "http://127.0.0.1:9/hook"}`)
	content := upgrade.Call(t, http.StatusOK, http.MethodGet, api+"/w3c/sosa/2.0/content", "", "")
	upload(t, api+"/acme/pump/0.1/content?format=ttl", content) // which shares the bytes
	sendPiece(t, api+"/u/1c332547-a4bc-4ba2-9075-0d7c09e9d0c6", 5, "56")
	p.Stop()
	upgrade.RequireNewer(t, folder, "root", "namespace/w3c", "model/w3c/sosa", "version/w3c/sosa/2.0", "version/w3c/sosa/2.0#formats/*",
		"version/acme/pump/0.1", "content/cdc12c55d09f9e937d83d04489579534fc87d79d7c16653bf3967d2d4f344eed", "webhooks", "upload/*",
		"upload/*#options")
	for key, count := range map[string]int{
		"version/acme/pump/0.1": 2, "webhooks": 3, "upload/1c332547-a4bc-4ba2-9075-0d7c09e9d0c6": 3,
	} {
		document := upgrade.Document(t, folder, key)
		require.Equal(t, count, upgrade.CountNewer(document), "those that were there: %s", document)
	}
	require.Contains(t, upgrade.Document(t, folder, "namespace/w3c"), "OGC")
	require.Contains(t, upgrade.Document(t, folder, "upload/1c332547-a4bc-4ba2-9075-0d7c09e9d0c6"), `"offset":7`)
}

func upload(t *testing.T, url, content string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("content", "content")
	require.NoError(t, err)
	_, err = io.WriteString(part, content)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	send(t, http.StatusOK, http.MethodPost, url, &body, map[string]string{"Content-Type": form.FormDataContentType()})
}

func sendPiece(t *testing.T, url string, offset int, piece string) {
	t.Helper()
	send(t, http.StatusNoContent, http.MethodPatch, url, strings.NewReader(piece), map[string]string{
		"Tus-Resumable": "1.0.0", "Upload-Offset": strconv.Itoa(offset), "Content-Type": "application/offset+octet-stream",
	})
}

func send(t *testing.T, want int, method, url string, body io.Reader, header map[string]string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, want, answer.StatusCode, "%s %s: %s", method, url, text)
}

func TestRun_refusesTheFolderOfAnother(t *testing.T) {
	upgrade.Refuses(t, run, "modelrepo", "annotator", "-listen", "127.0.0.1:0")
}
