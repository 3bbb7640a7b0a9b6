package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
	"github.com/iotenablers/enablers/test/upgrade"
)

// The folder unowned is of a version that wrote no format.json, and published APIs without
// a path of their own.
func TestRun_opensAFolderOfAnEarlierVersion(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Made-Up")+" "+r.URL.Path)
	}))
	defer upstream.Close()
	for _, version := range []string{"undivided", "unowned", "scrubbed"} {
		t.Run(version, func(t *testing.T) {
			folder := upgrade.Folder(t, version+"/apimanager")
			raw, err := os.ReadFile(filepath.Join(folder, "credentials.json"))
			require.NoError(t, err)
			var credentials map[string]string
			require.NoError(t, json.Unmarshal(raw, &credentials))
			args := []string{"-data", folder,
				"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0"}
			later := []string{"declaresSecurity", "warnings"} // than the first two
			if version == "scrubbed" {
				later = nil
			}
			var p *upgrade.Program
			var token string
			for i := range 3 { // later on what the one before has written
				if i > 0 {
					p.Stop()
				}
				p = upgrade.Start(t, run, 4, args...)
				token = signIn(t, p.URLs[3], "demodeveloper", credentials["demo_password"])
				if i < 2 {
					upgrade.Compare(t, upgrade.Comparison{Record: version + "/apimanager-admin", URL: p.URLs[2]})
					upgrade.Compare(t, upgrade.Comparison{Record: version + "/apimanager-portal", URL: p.URLs[0], Token: token,
						Replacements: []string{p.URLs[1], "http://127.0.0.1:18838"},
						Ignored:      later})
					record := upgrade.Call(t, http.StatusOK, http.MethodGet, p.URLs[0]+"/OpenAPIDocumentation/weather", token, "")
					require.Contains(t, record, `"declaresSecurity":false`)
					require.Contains(t, record, "the gateway requires credentials for GET ")
				}
			}
			gateway, admin := p.URLs[1], p.URLs[2]

			// The services are away, so a request that passes ends with 502 or 503.
			upgrade.Call(t, http.StatusUnauthorized, http.MethodGet, gateway+"/keyed", "", "")
			upgrade.Call(t, http.StatusUnauthorized, http.MethodGet, gateway+"/keyed?apikey=another", "", "")
			keyed := gateway + "/keyed?apikey=made-up-key-of-a-reader"
			upgrade.Call(t, http.StatusBadGateway, http.MethodGet, keyed, "", "")

			upgrade.Call(t, http.StatusCreated, http.MethodPost, admin+"/upstreams/pumps.internal/targets", "",
				`{"target": "`+strings.TrimPrefix(upstream.URL, "http://")+`"}`)
			require.Equal(t, "yes /1", upgrade.Call(t, http.StatusOK, http.MethodGet, gateway+"/pumps/1", "", ""))

			stored := p.URLs[0] + "/OpenAPIDocumentation/weather/definition"
			definition := upgrade.Call(t, http.StatusOK, http.MethodGet, stored, token, "")
			definition = strings.ReplaceAll(definition, "http://127.0.0.1:18840", upstream.URL)
			status, body := (&process{portal: p.URLs[0]}).publish(t, token, "weather", definition)
			require.Equal(t, http.StatusOK, status, body)
			require.Equal(t, " /keyed", upgrade.Call(t, http.StatusOK, http.MethodGet, keyed, "", ""))
			p.Stop()
			upgrade.RequireOwner(t, folder, "apimanager")
		})
	}
}

// signIn gets a token for a user of the identity provider inside.
func signIn(t *testing.T, idp, user, password string) string {
	t.Helper()
	return (&process{idp: strings.TrimSuffix(idp, "/") + "/"}).token(t, user, password)
}

func TestRun_keepsWhatANewerVersionStored(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	folder := upgrade.Folder(t, "undivided/apimanager")
	places := []string{"publisher/catalogue", "publisher/enabler/*", "publisher/enabler/*#versions/*", "idp/user/demodeveloper", "idp/signing"}
	upgrade.AddNewer(t, folder, places...)
	entities := []string{"services/*", "routes/*", "plugins/*", "consumers/*", "keyauth_credentials/*", "upstreams/*", "targets/*"}
	count := 0
	gatewayText(t, folder, func(docs storage.Documents) {
		upgrade.AddNewerTo(t, docs, "text")
		for _, place := range entities {
			upgrade.AddNewerTo(t, docs, "text#"+place)
		}
		doc, err := docs.Get(t.Context(), "text")
		require.NoError(t, err)
		count = upgrade.CountNewer(string(doc.Data))
	})
	file := filepath.Join(folder, "credentials.json")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var credentials map[string]string
	require.NoError(t, json.Unmarshal(raw, &credentials))
	later := strings.Replace(string(raw), "{", `{"later": {"a": 1},`, 1)
	require.NoError(t, os.WriteFile(file, []byte(later), 0o600))

	p := upgrade.Start(t, run, 4, "-data", folder, "-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0",
		"-admin-listen", "127.0.0.1:0", "-demo-password", "another password for tests")
	portal, admin := p.URLs[0], p.URLs[2]
	token := signIn(t, p.URLs[3], "demodeveloper", "another password for tests")
	upgrade.Call(t, http.StatusOK, http.MethodPatch, admin+"/services/pumps", "", `{"retries": 3}`)
	upgrade.Call(t, http.StatusOK, http.MethodPut, admin+"/routes/pumps", "", `{"paths": ["/more"], "service": {"name": "pumps"}}`)
	upgrade.Call(t, http.StatusOK, http.MethodPatch, admin+"/consumers/reader", "", `{"custom_id": "another"}`)
	upgrade.Call(t, http.StatusOK, http.MethodPatch, portal+"/OpenAPIDocumentation/old", token, `{"description": "Changed"}`)
	upgrade.Call(t, http.StatusOK, http.MethodPatch, portal+"/OpenAPIDocumentation/old/versions/0.9", token, `{"state": "published"}`)
	definition := upgrade.Call(t, http.StatusOK, http.MethodGet, portal+"/OpenAPIDocumentation/weather/definition", token, "")
	status, body := (&process{portal: portal}).publish(t, token, "weather",
		strings.ReplaceAll(definition, "http://127.0.0.1:18840", upstream.URL))
	require.Equal(t, http.StatusOK, status, body)
	p.Stop()

	upgrade.RequireNewer(t, folder, places...)
	for key, changed := range map[string]string{
		"publisher/enabler/old": `"published"`, "publisher/enabler/weather": `"serial":5`, "publisher/catalogue": `"serial":5`,
	} {
		require.Contains(t, upgrade.Document(t, folder, key), changed)
	}
	require.Contains(t, upgrade.Document(t, folder, "publisher/enabler/old"), "Changed")
	gatewayText(t, folder, func(docs storage.Documents) {
		doc, err := docs.Get(t.Context(), "text")
		require.NoError(t, err)
		for _, changed := range []string{`"retries":3`, `"/more"`, `"another"`, strings.TrimPrefix(upstream.URL, "http://127.0.0.1:")} {
			require.Contains(t, string(doc.Data), changed)
		}
		// Publishing "old" has added entities that have nothing of a newer version.
		require.Equal(t, count, upgrade.CountNewer(string(doc.Data)), "%s", doc.Data)
		upgrade.RequireNewerIn(t, docs, "text", "text#consumers/*", "text#keyauth_credentials/*", "text#upstreams/*", "text#targets/*")
	})
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	delete(credentials, "demo_password") // one that was given is not kept
	var now map[string]any
	require.NoError(t, json.Unmarshal(after, &now))
	credentials["demo_admin_password"] = now["demo_admin_password"].(string) // this version has generated it
	want, err := json.Marshal(credentials)
	require.NoError(t, err)
	require.JSONEq(t, strings.Replace(string(want), "{", `{"later": {"a": 1},`, 1), string(after))
}

// gatewayText calls a function with the configuration of the gateway in a stopped folder
// as the document "text", and stores what it has made of that.
func gatewayText(t *testing.T, folder string, do func(storage.Documents)) {
	t.Helper()
	store, err := disk.Open(t.Context(), folder, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	docs := storage.Prefixed(store.Documents(), "gateway/")
	headDoc, err := docs.Get(t.Context(), "config")
	require.NoError(t, err)
	var head map[string]any
	require.NoError(t, json.Unmarshal(headDoc.Data, &head))
	pieceDoc, err := docs.Get(t.Context(), "config/"+head["text"].(string)+"/00000")
	require.NoError(t, err)
	var text []byte
	require.NoError(t, json.Unmarshal(pieceDoc.Data, &text))
	made := storage.NewMemoryDocuments()
	_, err = made.Create(t.Context(), "text", text)
	require.NoError(t, err)
	do(made)
	doc, err := made.Get(t.Context(), "text")
	require.NoError(t, err)
	sum := sha256.Sum256(doc.Data)
	head["size"], head["sha256"] = len(doc.Data), hex.EncodeToString(sum[:])
	for key, value := range map[string]any{pieceDoc.Key: doc.Data, headDoc.Key: head} {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		old, err := docs.Get(t.Context(), key)
		require.NoError(t, err)
		_, err = docs.Update(t.Context(), key, old.Revision, data)
		require.NoError(t, err)
	}
}

func TestRun_refusesTheFolderOfAnother(t *testing.T) {
	upgrade.Refuses(t, run, "apimanager", "modelrepo", "-listen", "127.0.0.1:0",
		"-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0")
}
