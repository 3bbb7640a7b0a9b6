package storagetest

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing/iotest"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// blobChecks returns the suite of storage.Blobs.
func blobChecks() []check[storage.Blobs] {
	return append(append(blobStateChecks(), blobReaderChecks()...), append(blobKeyChecks(), blobRaceChecks()...)...)
}

func blobStateChecks() []check[storage.Blobs] {
	return []check[storage.Blobs]{
		{"a missing blob is not found", "Open, Stat and Delete return ErrNotFound, with the key in the text, when there is no such blob", missingBlob},
		{"a committed blob reads back", "Open gives the bytes that were written, and Commit, Stat, List and Info give their size and digests, for every size", blobReadsBack},
		{"small writes add up", "a blob is the bytes of all Writes in order, empty ones included, however small they are", smallWrites},
		{"written bytes are copied", "the caller may change his slice after Write", writtenBytesAreCopied},
		{"a blob is invisible before its commit", "until Commit returns nil, the key shows what it showed before", invisibleBeforeCommit},
		{"an abort leaves nothing", "after Abort the key shows what it showed before", abortLeavesNothing},
		{"an abort after the commit does nothing", "Abort after Commit and a second Abort return nil and change nothing", abortAfterCommit},
		{"a finished writer is closed", "Write and Commit return ErrClosed after Commit and after Abort", finishedWriter},
		{"the last commit stays", "of two writers on one key the one that commits last stays", lastCommitStays},
		{"a deleted blob is gone", "after Delete the blob is not found and not listed, and can be created again", deletedBlob},
		{"an ended context stops every blob method", "a method called with an ended context returns its error and does nothing", blobsEndedContext},
		{"the context of Create holds for the writer", "once the context of Create has ended, Write and Commit return its error, and nothing becomes visible", writerContext},
		{"the context of Commit holds for the commit", "Commit with an ended context returns its error, and nothing becomes visible", commitContext},
	}
}

func missingBlob(ctx context.Context, blobs storage.Blobs) error {
	const key = "missing/blob"
	_, openErr := blobs.Open(ctx, key)
	_, statErr := blobs.Stat(ctx, key)
	for call, err := range map[string]error{"Open": openErr, "Stat": statErr, "Delete": blobs.Delete(ctx, key)} {
		if err := wantError(call, err, storage.ErrNotFound); err != nil {
			return err
		}
		if !strings.Contains(err.Error(), key) {
			return fmt.Errorf("%s failed with %q, which does not name the key %q", call, err, key)
		}
	}
	return listsBlobs(ctx, blobs, "")
}

func blobReadsBack(ctx context.Context, blobs storage.Blobs) error {
	for _, size := range []int{0, 1, 2, 4095, 64<<10 - 1, 64 << 10, 64<<10 + 1, 5 << 20} {
		content := contentOf(fmt.Sprint("size ", size), size)
		info, err := put(ctx, blobs, "blob", content)
		if err != nil {
			return err
		}
		if err := describes("Commit", info, "blob", content); err != nil {
			return err
		}
		if err := holds(ctx, blobs, "blob", content); err != nil {
			return fmt.Errorf("a blob of %d bytes: %w", size, err)
		}
	}
	return nil
}

func smallWrites(ctx context.Context, blobs storage.Blobs) error {
	content := contentOf("small", 3000)
	writer, err := blobs.Create(ctx, "blob")
	if err != nil {
		return noError("Create", err)
	}
	defer writer.Abort()
	if n, err := writer.Write(nil); n != 0 || err != nil {
		return fmt.Errorf("Write of nothing returned %d, %v", n, err)
	}
	if _, err := io.Copy(writer, iotest.OneByteReader(bytes.NewReader(content))); err != nil {
		return noError("Write", err)
	}
	info, err := writer.Commit(ctx)
	if err != nil {
		return noError("Commit", err)
	}
	if err := describes("Commit", info, "blob", content); err != nil {
		return err
	}
	return holds(ctx, blobs, "blob", content)
}

func writtenBytesAreCopied(ctx context.Context, blobs storage.Blobs) error {
	writer, err := blobs.Create(ctx, "blob")
	if err != nil {
		return noError("Create", err)
	}
	defer writer.Abort()
	buffer := []byte("kept")
	if _, err := writer.Write(buffer); err != nil {
		return noError("Write", err)
	}
	copy(buffer, "lost")
	if _, err := writer.Commit(ctx); err != nil {
		return noError("Commit", err)
	}
	return holds(ctx, blobs, "blob", []byte("kept"))
}

func invisibleBeforeCommit(ctx context.Context, blobs storage.Blobs) error {
	content := contentOf("new", 3<<20)
	writer, err := written(ctx, blobs, "blob", content)
	if err != nil {
		return err
	}
	defer writer.Abort()
	if err := isMissing(ctx, blobs, "blob"); err != nil {
		return fmt.Errorf("before the first Commit: %w", err)
	}
	if _, err := writer.Commit(ctx); err != nil {
		return noError("Commit", err)
	}
	second, err := written(ctx, blobs, "blob", contentOf("second", 3<<20))
	if err != nil {
		return err
	}
	defer second.Abort()
	if err := holds(ctx, blobs, "blob", content); err != nil {
		return fmt.Errorf("before the Commit of a replacement: %w", err)
	}
	return nil
}

func abortLeavesNothing(ctx context.Context, blobs storage.Blobs) error {
	writer, err := written(ctx, blobs, "blob", contentOf("aborted", 1<<20))
	if err != nil {
		return err
	}
	if err := noError("Abort", writer.Abort()); err != nil {
		return err
	}
	if err := isMissing(ctx, blobs, "blob"); err != nil {
		return fmt.Errorf("after Abort: %w", err)
	}
	old := contentOf("old", 1000)
	if _, err := put(ctx, blobs, "blob", old); err != nil {
		return err
	}
	if writer, err = written(ctx, blobs, "blob", contentOf("aborted", 1<<20)); err != nil {
		return err
	}
	if err := noError("Abort", writer.Abort()); err != nil {
		return err
	}
	if err := holds(ctx, blobs, "blob", old); err != nil {
		return fmt.Errorf("after the Abort of a replacement: %w", err)
	}
	return nil
}

func abortAfterCommit(ctx context.Context, blobs storage.Blobs) error {
	content := contentOf("kept", 1000)
	writer, err := written(ctx, blobs, "blob", content)
	if err != nil {
		return err
	}
	if _, err := writer.Commit(ctx); err != nil {
		return noError("Commit", err)
	}
	for range 2 {
		if err := noError("Abort after Commit", writer.Abort()); err != nil {
			return err
		}
	}
	if err := holds(ctx, blobs, "blob", content); err != nil {
		return fmt.Errorf("after an Abort that followed Commit: %w", err)
	}
	if writer, err = written(ctx, blobs, "other", content); err != nil {
		return err
	}
	return errors.Join(noError("Abort", writer.Abort()), noError("a second Abort", writer.Abort()))
}

func finishedWriter(ctx context.Context, blobs storage.Blobs) error {
	content := contentOf("kept", 1000)
	for _, end := range []string{"Commit", "Abort"} {
		writer, err := written(ctx, blobs, end, content)
		if err != nil {
			return err
		}
		if end == "Commit" {
			_, err = writer.Commit(ctx)
		} else {
			err = writer.Abort()
		}
		if err != nil {
			return noError(end, err)
		}
		_, err = writer.Write([]byte("more"))
		if err := wantError("Write after "+end, err, storage.ErrClosed); err != nil {
			return err
		}
		_, err = writer.Commit(ctx)
		if err := wantError("Commit after "+end, err, storage.ErrClosed); err != nil {
			return err
		}
	}
	return errors.Join(holds(ctx, blobs, "Commit", content), isMissing(ctx, blobs, "Abort"))
}

func lastCommitStays(ctx context.Context, blobs storage.Blobs) error {
	first, second := contentOf("first", 200_000), contentOf("second", 1000)
	early, err := written(ctx, blobs, "blob", first)
	if err != nil {
		return err
	}
	defer early.Abort()
	late, err := written(ctx, blobs, "blob", second)
	if err != nil {
		return err
	}
	defer late.Abort()
	if _, err := late.Commit(ctx); err != nil {
		return noError("Commit", err)
	}
	if err := holds(ctx, blobs, "blob", second); err != nil {
		return fmt.Errorf("after the first Commit: %w", err)
	}
	if _, err := early.Commit(ctx); err != nil {
		return noError("Commit of the writer that was created first", err)
	}
	if err := holds(ctx, blobs, "blob", first); err != nil {
		return fmt.Errorf("after the second Commit: %w", err)
	}
	return nil
}

func deletedBlob(ctx context.Context, blobs storage.Blobs) error {
	content := contentOf("again", 500)
	for range 2 {
		if _, err := put(ctx, blobs, "blob", content); err != nil {
			return err
		}
		if err := holds(ctx, blobs, "blob", content); err != nil {
			return err
		}
		if err := noError("Delete", blobs.Delete(ctx, "blob")); err != nil {
			return err
		}
		if err := isMissing(ctx, blobs, "blob"); err != nil {
			return fmt.Errorf("after Delete: %w", err)
		}
	}
	return nil
}

func blobsEndedContext(ctx context.Context, blobs storage.Blobs) error {
	content := contentOf("kept", 500)
	if _, err := put(ctx, blobs, "blob", content); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for call, err := range blobCalls(ended, blobs, "blob") {
		if err := wantError(call+" with an ended context", err, context.Canceled); err != nil {
			return err
		}
	}
	return holds(ctx, blobs, "blob", content)
}

func writerContext(ctx context.Context, blobs storage.Blobs) error {
	writing, cancel := context.WithCancel(ctx)
	defer cancel()
	writer, err := written(writing, blobs, "blob", contentOf("lost", 500))
	if err != nil {
		return err
	}
	defer writer.Abort()
	cancel()
	_, err = writer.Write(contentOf("more", 500))
	if err := wantError("Write after the context of Create has ended", err, context.Canceled); err != nil {
		return err
	}
	if _, err := writer.Commit(ctx); err == nil {
		return errors.New("Commit succeeded after a Write had failed")
	}
	return isMissing(ctx, blobs, "blob")
}

func commitContext(ctx context.Context, blobs storage.Blobs) error {
	writer, err := written(ctx, blobs, "blob", contentOf("lost", 500))
	if err != nil {
		return err
	}
	defer writer.Abort()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = writer.Commit(ended)
	if err := wantError("Commit with an ended context", err, context.Canceled); err != nil {
		return err
	}
	_, err = writer.Commit(ctx)
	if err := wantError("another Commit", err, storage.ErrClosed); err != nil {
		return err
	}
	return isMissing(ctx, blobs, "blob")
}

// blobCalls calls every method and returns what each said.
func blobCalls(ctx context.Context, blobs storage.Blobs, key string) map[string]error {
	errs := make(map[string]error)
	_, errs["Create"] = blobs.Create(ctx, key)
	_, errs["Open"] = blobs.Open(ctx, key)
	_, errs["Stat"] = blobs.Stat(ctx, key)
	errs["Delete"] = blobs.Delete(ctx, key)
	_, errs["List"] = listed(ctx, blobs, "")
	return errs
}

// closedBlobs is the check for a store that has been closed.
func closedBlobs() check[storage.Blobs] {
	return check[storage.Blobs]{
		"a closed store refuses every method", "every method returns ErrClosed after Close",
		func(ctx context.Context, blobs storage.Blobs) error {
			for call, err := range blobCalls(ctx, blobs, "blob") {
				if err := wantError(call+" after Close", err, storage.ErrClosed); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// contentOf returns bytes that differ for each name and repeat nowhere soon.
func contentOf(name string, size int) []byte {
	content := make([]byte, 0, size+sha256.Size)
	for block := sha256.Sum256([]byte(name)); len(content) < size; block = sha256.Sum256(block[:]) {
		content = append(content, block[:]...)
	}
	return content[:size]
}

// written returns a writer that has taken the content.
func written(ctx context.Context, blobs storage.Blobs, key string, content []byte) (storage.BlobWriter, error) {
	writer, err := blobs.Create(ctx, key)
	if err != nil {
		return nil, noError(fmt.Sprintf("Create of %.40q", key), err)
	}
	if n, err := writer.Write(content); n != len(content) || err != nil {
		return nil, fmt.Errorf("Write of %d bytes returned %d, %w", len(content), n, errors.Join(err, writer.Abort()))
	}
	return writer, nil
}

// put stores a blob.
func put(ctx context.Context, blobs storage.Blobs, key string, content []byte) (storage.BlobInfo, error) {
	writer, err := written(ctx, blobs, key, content)
	if err != nil {
		return storage.BlobInfo{}, err
	}
	info, err := writer.Commit(ctx)
	return info, noError("Commit", err)
}

// holds returns an error unless the blob is there with exactly the content.
func holds(ctx context.Context, blobs storage.Blobs, key string, content []byte) error {
	reader, err := blobs.Open(ctx, key)
	if err != nil {
		return noError("Open", err)
	}
	defer reader.Close()
	got, err := io.ReadAll(reader)
	if err != nil {
		return noError("Read", err)
	}
	if !bytes.Equal(got, content) {
		return fmt.Errorf("the %d bytes that were read are not the %d that were written", len(got), len(content))
	}
	if err := describes("Info of the reader", reader.Info(), key, content); err != nil {
		return err
	}
	info, err := blobs.Stat(ctx, key)
	if err != nil {
		return noError("Stat", err)
	}
	if err := describes("Stat", info, key, content); err != nil {
		return err
	}
	infos, err := listed(ctx, blobs, key)
	if err != nil {
		return noError("List", err)
	}
	if len(infos) == 0 {
		return fmt.Errorf("List by the whole key %.100q gave nothing", key)
	}
	if err := describes("List", infos[0], key, content); err != nil {
		return err
	}
	if !infos[0].Modified.Equal(info.Modified) || !reader.Info().Modified.Equal(info.Modified) {
		return fmt.Errorf("Modified is %v in List, %v in Info and %v in Stat", infos[0].Modified, reader.Info().Modified, info.Modified)
	}
	return nil
}

// describes returns an error unless the info is right for the content.
func describes(call string, info storage.BlobInfo, key string, content []byte) error {
	md5sum, sha256sum := md5.Sum(content), sha256.Sum256(content)
	want := storage.BlobInfo{
		Key: key, Size: int64(len(content)),
		MD5: hex.EncodeToString(md5sum[:]), SHA256: hex.EncodeToString(sha256sum[:]),
		Modified: info.Modified,
	}
	if info != want {
		return fmt.Errorf("%s describes %+v, want %+v", call, info, want)
	}
	if info.Modified.IsZero() || info.Modified.Location() != time.UTC {
		return fmt.Errorf("%s gives the time %v, want one in UTC", call, info.Modified)
	}
	return nil
}

// isMissing returns an error unless no method shows the blob.
func isMissing(ctx context.Context, blobs storage.Blobs, key string) error {
	if _, err := blobs.Open(ctx, key); !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("Open returned %v, want not found", err)
	}
	if _, err := blobs.Stat(ctx, key); !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("Stat returned %v, want not found", err)
	}
	return listsBlobs(ctx, blobs, key)
}

// listed returns what List yields.
func listed(ctx context.Context, blobs storage.Blobs, prefix string) ([]storage.BlobInfo, error) {
	var infos []storage.BlobInfo
	for info, err := range blobs.List(ctx, prefix) {
		if err != nil {
			return infos, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// listsBlobs returns an error unless List yields exactly these keys in order.
func listsBlobs(ctx context.Context, blobs storage.Blobs, prefix string, want ...string) error {
	infos, err := listed(ctx, blobs, prefix)
	if err != nil {
		return noError("List", err)
	}
	var keys []string
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	return sameKeys(fmt.Sprintf("List of the prefix %.40q", prefix), keys, want)
}
