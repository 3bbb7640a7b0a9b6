package upgrade

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// A place is an object in a stored document, or in several: the key of the document, which
// may end with "*", and behind "#" the names of members and "*" for the elements of lists,
// such as "node#links/*/probe".

// newer is the name of the member that only a newer version has.
const newer = "made up by a newer version"

// newerValue is its value.
const newerValue = `{"id": "x", "list": [1, 2.50, {"deep": null}]}`

// AddNewer stores, in every object of the places in a stopped folder, a member that
// today's version does not have. Each place has to be there.
func AddNewer(t testing.TB, folder string, places ...string) {
	t.Helper()
	inFolder(t, folder, func(docs storage.Documents) { AddNewerTo(t, docs, places...) })
}

// AddNewerTo is AddNewer for documents.
func AddNewerTo(t testing.TB, docs storage.Documents, places ...string) {
	t.Helper()
	for _, place := range places {
		count := 0
		eachDocument(t, docs, place, func(doc storage.Document, path []string) {
			data := eachObject(t, doc.Data, path, func(object map[string]json.RawMessage) {
				object[newer] = json.RawMessage(newerValue)
				count++
			})
			_, err := docs.Update(t.Context(), doc.Key, doc.Revision, data)
			require.NoError(t, err)
		})
		require.NotZero(t, count, "nothing is stored at %q", place)
	}
}

// RequireNewer fails the test unless every object of the places has that member.
func RequireNewer(t testing.TB, folder string, places ...string) {
	t.Helper()
	inFolder(t, folder, func(docs storage.Documents) { RequireNewerIn(t, docs, places...) })
}

// RequireNewerIn is RequireNewer for documents.
func RequireNewerIn(t testing.TB, docs storage.Documents, places ...string) {
	t.Helper()
	for _, place := range places {
		count := 0
		eachDocument(t, docs, place, func(doc storage.Document, path []string) {
			eachObject(t, doc.Data, path, func(object map[string]json.RawMessage) {
				count++
				require.Contains(t, object, newer, "%s: %s", place, doc.Data)
				require.JSONEq(t, newerValue, string(object[newer]), "%s: %s", place, doc.Key)
			})
		})
		require.NotZero(t, count, "nothing is stored at %q", place)
	}
}

// CountNewer returns how often a text has that member.
func CountNewer(text string) int { return strings.Count(text, newer) }

// Document returns the stored document of a stopped folder.
func Document(t testing.TB, folder, key string) string {
	t.Helper()
	text := ""
	inFolder(t, folder, func(docs storage.Documents) {
		doc, err := docs.Get(t.Context(), key)
		require.NoError(t, err, key)
		text = string(doc.Data)
	})
	return text
}

// inFolder calls a function with the documents of a stopped folder.
func inFolder(t testing.TB, folder string, do func(storage.Documents)) {
	t.Helper()
	store, err := disk.Open(t.Context(), folder, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	do(store.Documents())
}

func eachDocument(t testing.TB, docs storage.Documents, place string, do func(storage.Document, []string)) {
	t.Helper()
	key, rest, _ := strings.Cut(place, "#")
	var path []string
	if rest != "" {
		path = strings.Split(rest, "/")
	}
	prefix, several := strings.CutSuffix(key, "*")
	for doc, err := range storage.All(t.Context(), docs, prefix) {
		require.NoError(t, err)
		if several || doc.Key == key {
			do(doc, path)
		}
	}
}

// eachObject calls a function with the objects at a path, and returns the text with what
// it has made of them.
func eachObject(t testing.TB, text []byte, path []string, do func(map[string]json.RawMessage)) []byte {
	t.Helper()
	var made any
	if len(path) > 0 && path[0] == "*" {
		var list []json.RawMessage
		require.NoError(t, json.Unmarshal(text, &list), "%s", text)
		for i := range list {
			list[i] = eachObject(t, list[i], path[1:], do)
		}
		made = list
	} else {
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &object), "%s", text)
		if len(path) == 0 {
			do(object)
		} else if below, ok := object[path[0]]; ok {
			object[path[0]] = eachObject(t, below, path[1:], do)
		}
		made = object
	}
	data, err := json.Marshal(made)
	require.NoError(t, err)
	return data
}

// Refuses fails the test unless a command that is given the folders refuses each of them by
// the name in its file format.json, and leaves every file as it was: one of a later format,
// and one of another block. The command gets the flags, and -data.
func Refuses(t *testing.T, run Run, owner, other string, flags ...string) {
	for name, test := range map[string]struct {
		archive, owner string
		format         int
		want           string
	}{
		"a later format": {owner, owner, 99, "a newer version of " + owner + " wrote format 99, and this one reads up to 1; " +
			"run that version, or restore a backup from before it"},
		"another block": {other, other, 1, "it is the folder of " + other + ", and this is " + owner +
			"; give " + owner + " a folder of its own"},
		"another block without a mark": {other, "", 0, "as the folder of " + other + " does, and this is " + owner},
	} {
		t.Run(name, func(t *testing.T) {
			folder := Folder(t, "undivided/"+blockArchive(test.archive))
			mark := filepath.Join(folder, "format.json")
			require.NoError(t, os.RemoveAll(mark))
			if test.owner != "" {
				text := `{"owner": "` + test.owner + `", "format": ` + strconv.Itoa(test.format) + `, "later": true}`
				require.NoError(t, os.WriteFile(mark, []byte(text), 0o600))
			}
			before := files(t, folder)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where it is not refused
			defer cancel()
			err := run(ctx, append(flags, "-data", folder), t.Output(), t.Output())
			require.ErrorContains(t, err, test.want)
			require.Equal(t, before, files(t, folder))
		})
	}
}

// blockArchive is the name of an archive with the folder of a block.
func blockArchive(block string) string {
	if block == "multilink" {
		return "multilink-server"
	}
	return block
}

// files returns the content of all files of a folder, by their names.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		all[name] = string(content)
		return err
	}))
	return all
}
