package interop_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/modelrepo"
	modelclient "github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
	"github.com/iotenablers/enablers/test/interop"
)

// killSeed is the environment variable with the number that chooses what is
// tried: that of a run that failed, say. Without it every run tries other things.
const killSeed = "ENABLERS_KILL_SEED"

// TestModelrepoLosesNothingWhenItIsKilledAHundredTimes lets several clients
// upload, overwrite and delete, and the server collect garbage all the time,
// kills the server in the middle, and looks at what the next one has.
func TestModelrepoLosesNothingWhenItIsKilledAHundredTimes(t *testing.T) {
	kills := 100
	if testing.Short() || !peertest.Required() {
		kills = 10
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(killSeed); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("%s=%d", killSeed, seed)
	program, dir := interop.Build(t, "modelrepo"), t.TempDir()
	all := makeContents(seed)
	var keepers []*keeper
	for i := range 6 {
		model := modelrepo.Path{Namespace: fmt.Sprintf("keeper-%d", i), Model: "model"}
		keepers = append(keepers, &keeper{model: model, contents: all, known: shelf{}})
	}
	interrupted, collected := map[string]int{}, 0
	for kill := range kills + 1 {
		server := interop.StartServer(t, program, "-listen", "127.0.0.1:0", "-data", dir,
			"-grace", "250ms", "-collect-interval", "2ms", "-log-level", "info")
		client, err := modelclient.New(server.URL, nil)
		require.NoError(t, err)
		if kill == 0 {
			plant(t, client, keepers)
		}
		survey(t, client, keepers, all)
		if kill == kills {
			server.Stop()
			break
		}
		workUntilKilled(t, server, client, keepers, seed, uint64(kill))
		for _, k := range keepers {
			interrupted[k.underWay]++
		}
		collected += blobsCollected(t, server.Output())
	}
	confirmed := 0
	for _, k := range keepers {
		confirmed += k.confirmed
	}
	t.Logf("%d kills; %d requests confirmed; interrupted: %v; at least %d blobs collected meanwhile", kills, confirmed, interrupted, collected)
	for _, kind := range []string{"upload", "overwrite"} {
		require.NotZero(t, interrupted[kind], "none was ever interrupted: %s", kind)
	}
	require.NotZero(t, collected, "nothing was ever collected")
	nothingStrays(t, dir, keepers, all)
}

// plant creates what is above the versions.
func plant(t *testing.T, client *modelclient.Client, keepers []*keeper) {
	t.Helper()
	for _, k := range keepers {
		require.NoError(t, client.CreateNamespace(t.Context(), k.model.Namespace, modelrepo.NamespaceUpdate{}))
		require.NoError(t, client.CreateModel(t.Context(), k.model, modelrepo.ModelUpdate{}))
	}
}

// workUntilKilled lets the keepers work and kills the server after a random time in which
// it has answered a random number of requests.
func workUntilKilled(t *testing.T, server *interop.Server, client *modelclient.Client, keepers []*keeper, seed, round uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, round<<8))
	after := time.After(time.Duration(random.IntN(240_000)) * time.Microsecond)
	var left atomic.Int64 // a machine that is too busy answers few in that time
	left.Store(int64(1 + random.IntN(60)))
	enough := make(chan struct{})
	go func() {
		<-after
		select {
		case <-enough:
		case <-t.Context().Done(): // the keepers have failed
		}
		server.Kill()
	}()
	errs := make([]error, len(keepers))
	var all sync.WaitGroup
	for i, k := range keepers {
		all.Go(func() {
			errs[i] = k.work(t.Context(), client, rand.New(rand.NewPCG(seed, round<<8+uint64(i)+1)), func() {
				if left.Add(-1) == 0 {
					close(enough)
				}
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	<-server.Ended()
}

// survey looks at everything that is visible: it must be what the keepers know,
// whole, and nothing else.
func survey(t *testing.T, client *modelclient.Client, keepers []*keeper, all *contents) {
	t.Helper()
	root, err := client.Namespaces(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, root.Items, len(keepers))
	for _, k := range keepers {
		namespace, err := client.Namespace(t.Context(), k.model.Namespace, nil)
		require.NoError(t, err)
		require.Len(t, namespace.Models.Items, 1)
		model, err := client.Model(t.Context(), k.model, nil)
		require.NoError(t, err)
		found := shelf{}
		if model.Versions != nil {
			for _, item := range model.Versions.Items {
				at := k.model
				at.Version = item.Version
				found[item.Version] = inspect(t, client, at, all)
			}
		}
		require.NoError(t, k.settle(found))
	}
}

// inspect reads all content of a version, compares it with its version's record,
// and returns which it is.
func inspect(t *testing.T, client *modelclient.Client, at modelrepo.Path, all *contents) map[string]int {
	t.Helper()
	version, err := client.Version(t.Context(), at)
	require.NoError(t, err)
	found := map[string]int{}
	for format, file := range version.Formats {
		number := slices.Index(all.sha256, file.SHA256)
		require.GreaterOrEqual(t, number, 0, "%v has content that no client uploaded: %+v", at, file)
		require.Equal(t, all.md5[number], file.MD5)
		require.EqualValues(t, len(all.data[number]), file.Size)
		data, err := read(t.Context(), client, at, format)
		require.NoError(t, err, "%v in format %s", at, format)
		require.True(t, bytes.Equal(all.data[number], data), "%v in format %s: %d bytes are not those that were uploaded", at, format, len(data))
		found[format] = number
	}
	return found
}

func read(ctx context.Context, client *modelclient.Client, at modelrepo.Path, format string) ([]byte, error) {
	content, err := client.Open(ctx, at, format)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	return io.ReadAll(content)
}

// blobsCollected adds up what the server says that it collected.
func blobsCollected(t *testing.T, log string) int {
	t.Helper()
	total := 0
	for _, found := range regexp.MustCompile(`\bblobs=(\d+)`).FindAllStringSubmatch(log, -1) {
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		total += n
	}
	return total
}

// nothingStrays repairs and collects, and then compares the files of the folder
// with the contents that are referred to.
func nothingStrays(t *testing.T, dir string, keepers []*keeper, all *contents) {
	t.Helper()
	store, err := disk.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	repository, err := modelrepo.New(modelrepo.Config{Documents: store.Documents(), Blobs: store.Blobs(), Grace: 1, Settle: 1})
	require.NoError(t, err)
	for range 4 { // collection takes three rounds
		_, err := repository.Repair(t.Context())
		require.NoError(t, err)
		_, err = repository.Collect(t.Context())
		require.NoError(t, err)
	}
	for doc, err := range storage.All(t.Context(), store.Documents(), "") {
		require.NoError(t, err)
		require.False(t, strings.HasPrefix(doc.Key, "condemned/"), doc.Key)
		require.NotContains(t, string(doc.Data), `"mark"`, doc.Key)
		require.NotContains(t, string(doc.Data), `"uploads"`, doc.Key)
	}
	require.NoError(t, store.Close())

	var want []string
	for _, k := range keepers {
		for _, formats := range k.known {
			for _, number := range formats {
				want = append(want, all.sha256[number])
			}
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	require.NotEmpty(t, want)
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		known := path == filepath.Join(dir, "store.db") || path == filepath.Join(dir, "format.json")
		if err != nil || entry.IsDir() || known {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		files = append(files, hex.EncodeToString(sum[:]))
		return nil
	}))
	slices.Sort(files)
	require.Equal(t, want, files, "the files are not those of the contents, each once")
}
