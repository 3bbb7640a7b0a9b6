//go:build unix

package disk_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/disk"
)

// crashFolder is the variable that turns the test binary into the victim.
const crashFolder = "STORAGE_DISK_CRASH_FOLDER"

const (
	crashRounds = 20
	// crashKeys is how many keys each of the victim's goroutines writes.
	crashKeys = 4
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashFolder); dir != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(fullFolder); dir != "" {
		run := openOnFullDisk
		if os.Getenv(fullSnapshot) != "" {
			run = snapshotOnFullDisk
		}
		if err := run(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(spaceFolder); dir != "" {
		if err := writeUntilFull(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attempt is what one goroutine of the victim announces before a write, and
// again when the store has acknowledged it. The content follows from it.
type attempt struct {
	kind   string // document or blob
	key    string
	number int // 0 deletes
}

func (a attempt) data() []byte { return fmt.Appendf(nil, `{"number":%d}`, a.number) }

// content returns bytes whose length and digest follow from the attempt; some
// blobs are empty, most fill several buffers.
func (a attempt) content() []byte {
	block := sha256.Sum256(fmt.Append(nil, a.key, a.number))
	return []byte(strings.Repeat(string(block[:]), a.number%9973))
}

// writeUntilKilled runs in the child. Every line goes out in one write to the
// pipe: "try" before, "ack" after.
func writeUntilKilled(dir string) error {
	store, err := disk.Open(context.Background(), dir, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	failures := make(chan error)
	for worker := range 4 {
		go func() { failures <- crashWorker(store, worker) }()
	}
	return <-failures
}

// crashWorker writes its own keys in turn: documents if it is even, blobs if
// it is odd, and deletes now and then.
func crashWorker(store *disk.Store, worker int) error {
	kind := []string{"document", "blob"}[worker%2]
	start := int(time.Now().UnixMicro() % 1e9) // the next round has other numbers
	for i := 1; ; i++ {
		a := attempt{kind: kind, key: fmt.Sprintf("%s/%d/%d", kind, worker, i%crashKeys), number: start + i}
		if i%7 == 0 {
			a.number = 0
		}
		fmt.Println("try", a.kind, a.key, a.number)
		if err := a.write(store); err != nil {
			return err
		}
		fmt.Println("ack", a.kind, a.key, a.number)
	}
}

// write carries the attempt out, whatever the key holds.
func (a attempt) write(store *disk.Store) error {
	ctx := context.Background()
	switch {
	case a.kind == "blob" && a.number == 0:
		if err := store.Blobs().Delete(ctx, a.key); !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		return nil
	case a.kind == "blob":
		writer, err := store.Blobs().Create(ctx, a.key)
		if err != nil {
			return err
		}
		if _, err := writer.Write(a.content()); err != nil {
			return err
		}
		_, err = writer.Commit(ctx)
		return err
	}
	doc, err := store.Documents().Get(ctx, a.key)
	missing := errors.Is(err, storage.ErrNotFound)
	switch {
	case err != nil && !missing:
		return err
	case a.number == 0 && missing:
		return nil
	case a.number == 0:
		return store.Documents().Delete(ctx, a.key, doc.Revision)
	case missing:
		_, err = store.Documents().Create(ctx, a.key, a.data())
	default:
		_, err = store.Documents().Update(ctx, a.key, doc.Revision, a.data())
	}
	return err
}

// history is what a key may hold: the last acknowledged write, or the one that
// was announced after it.
type history struct {
	acknowledged, announced attempt
}

// A killed process does not lose what the kernel has taken, so this test is
// about the order of the steps and not about syncing.
func TestStore_keepsAcknowledgedWritesAfterAKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	histories := make(map[string]history)
	acknowledged := 0
	for round := range crashRounds {
		// Some die while they open the store or soon after, most while they
		// write. How far those are is counted: a slow machine takes its time.
		fate := death{after: time.Duration(random.Int64N(int64(5 * time.Millisecond))), writes: 1 + random.IntN(100)}
		if round%5 == 0 {
			fate = death{after: time.Duration(random.Int64N(int64(120 * time.Millisecond)))}
		}
		acknowledged += crash(t, dir, fate, histories)
		verify(t, dir, round, histories)
	}
	require.Greater(t, acknowledged, crashRounds, "the victims wrote too little for the test to mean anything")
	t.Logf("%d acknowledged writes in %d rounds", acknowledged, crashRounds)
}

func TestOpen_refusesAFolderOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	other, output := startVictim(t, dir, io.Discard)
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)
	_, err = disk.Open(context.Background(), dir, &disk.Options{LockTimeout: -1})
	require.ErrorIs(t, err, disk.ErrLocked)

	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	open(t, dir)
}

// startVictim starts the test binary as a writer to the folder.
func startVictim(t *testing.T, dir string, complaints io.Writer) (*exec.Cmd, io.Reader) {
	t.Helper()
	victim := exec.CommandContext(t.Context(), os.Args[0])
	victim.Env = append(os.Environ(), crashFolder+"="+dir)
	victim.Stderr = complaints
	output, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	return victim, output
}

// death says when a victim is killed: some time after it has acknowledged so
// many writes.
type death struct {
	writes int
	after  time.Duration
}

// crash runs a victim, kills it, and notes what it said. It returns how many
// writes were acknowledged.
func crash(t *testing.T, dir string, fate death, histories map[string]history) int {
	t.Helper()
	var complaints strings.Builder
	victim, output := startVictim(t, dir, &complaints)
	acknowledged := 0
	doom := func() {
		if acknowledged == fate.writes {
			time.AfterFunc(fate.after, func() { _ = victim.Process.Kill() })
		}
	}
	doom()
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line without its end was not said
		}
		fields := strings.Fields(line)
		if len(fields) != 4 {
			continue
		}
		number, err := strconv.Atoi(fields[3])
		require.NoError(t, err)
		a := attempt{kind: fields[1], key: fields[2], number: number}
		h, known := histories[a.key]
		if !known {
			h.acknowledged = attempt{kind: a.kind, key: a.key} // absent
		}
		h.announced = a
		if fields[0] == "ack" {
			h.acknowledged = a
			acknowledged++
			doom()
		}
		histories[a.key] = h
	}
	_ = victim.Wait()
	status := victim.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled() && status.Signal() == syscall.SIGKILL, "the victim ended by itself: %s",
		complaints.String())
	return acknowledged
}

// verify opens the folder and compares it with the histories, which it brings
// to what was found.
func verify(t *testing.T, dir string, round int, histories map[string]history) {
	t.Helper()
	store, err := disk.Open(context.Background(), dir, nil)
	require.NoError(t, err, "round %d", round)
	defer func() { require.NoError(t, store.Close()) }()

	blobs := 0
	for key, h := range histories {
		found := h.acknowledged
		if !found.isStored(t, store) {
			found = h.announced
			require.True(t, found.isStored(t, store),
				"round %d: %q holds neither the acknowledged %+v nor the announced %+v", round, key, h.acknowledged, h.announced)
		}
		histories[key] = history{acknowledged: found, announced: found}
		if found.kind == "blob" && found.number != 0 {
			blobs++
		}
	}
	docs, err := store.Documents().List(t.Context(), "", "", 0)
	require.NoError(t, err)
	for _, doc := range docs {
		require.Contains(t, histories, doc.Key, "round %d: a document that no operation announced", round)
	}
	for info, err := range store.Blobs().List(t.Context(), "") {
		require.NoError(t, err)
		require.Contains(t, histories, info.Key, "round %d: a blob that no operation announced", round)
	}
	require.Len(t, contentFiles(t, dir), blobs, "round %d: litter after Open", round)
}

// isStored reports whether the key holds exactly this attempt. A blob whose
// bytes do not match its own description is torn, which nothing excuses.
func (a attempt) isStored(t *testing.T, store *disk.Store) bool {
	t.Helper()
	if a.kind == "document" {
		doc, err := store.Documents().Get(t.Context(), a.key)
		if errors.Is(err, storage.ErrNotFound) {
			return a.number == 0
		}
		require.NoError(t, err)
		return a.number != 0 && string(doc.Data) == string(a.data())
	}
	reader, err := store.Blobs().Open(t.Context(), a.key)
	if errors.Is(err, storage.ErrNotFound) {
		return a.number == 0
	}
	require.NoError(t, err)
	content, err := io.ReadAll(reader)
	require.NoError(t, errors.Join(err, reader.Close()))
	digest := sha256.Sum256(content)
	require.Equal(t, reader.Info().SHA256, hex.EncodeToString(digest[:]), "%q is torn", a.key)
	return a.number != 0 && string(content) == string(a.content())
}
