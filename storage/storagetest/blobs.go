package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing/iotest"

	"github.com/iotenablers/enablers/storage"
)

// blobChecks returns the suite of storage.Blobs.
func blobChecks() []check[storage.Blobs] {
	return append(append(blobStateChecks(), blobReaderChecks()...), append(blobKeyChecks(), blobRaceChecks()...)...)
}

func blobStateChecks() []check[storage.Blobs] {
	return []check[storage.Blobs]{
		{
			"a missing blob is not found",
			"Open, Stat and Delete return ErrNotFound, with the key in the text, when there is no such blob",
			missingBlob,
		},
		{
			"a committed blob reads back",
			"Open gives the bytes that were written, and Commit, Stat, List and Info give their size and digests, for " +
				"every size",
			blobReadsBack,
		},
		{
			"small writes add up",
			"a blob is the bytes of all Writes in order, empty ones included, however small they are",
			smallWrites,
		},
		{"written bytes are copied", "the caller may change its slice after Write", writtenBytesAreCopied},
		{
			"a blob is invisible before its commit",
			"until Commit returns nil, the key shows what it showed before",
			invisibleBeforeCommit,
		},
		{"an abort leaves nothing", "after Abort the key shows what it showed before", abortLeavesNothing},
		{
			"an abort after the commit does nothing",
			"Abort after Commit and a second Abort return nil and change nothing",
			abortAfterCommit,
		},
		{"a finished writer is closed", "Write and Commit return ErrClosed after Commit and after Abort", finishedWriter},
		{"the last commit stays", "of two writers on one key the one that commits last stays", lastCommitStays},
		{
			"a deleted blob is gone",
			"after Delete the blob is not found and not listed, and can be created again",
			deletedBlob,
		},
		{
			"an ended context stops every blob method",
			"a method called with an ended context returns its error and does nothing",
			blobsEndedContext,
		},
		{
			"the context of Create holds for the writer",
			"once the context of Create has ended, Write and Commit return its error, and nothing becomes visible",
			writerContext,
		},
		{
			"the context of Commit holds for the commit",
			"Commit with an ended context returns its error, and nothing becomes visible",
			commitContext,
		},
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
		content := generate(fmt.Sprint("size ", size), size)
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
	content := generate("small", 3000)
	writer, err := blobs.Create(ctx, "blob")
	if err != nil {
		return noError("Create", err)
	}
	defer writer.Abort()
	if n, err := writer.Write(nil); n != 0 || err != nil {
		return fmt.Errorf("the call Write of nothing returned %d, %v", n, err)
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
	content := generate("new", 3<<20)
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
	second, err := written(ctx, blobs, "blob", generate("second", 3<<20))
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
	writer, err := written(ctx, blobs, "blob", generate("aborted", 1<<20))
	if err != nil {
		return err
	}
	if err := noError("Abort", writer.Abort()); err != nil {
		return err
	}
	if err := isMissing(ctx, blobs, "blob"); err != nil {
		return fmt.Errorf("after Abort: %w", err)
	}
	old := generate("old", 1000)
	if _, err := put(ctx, blobs, "blob", old); err != nil {
		return err
	}
	if writer, err = written(ctx, blobs, "blob", generate("aborted", 1<<20)); err != nil {
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
	content := generate("kept", 1000)
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
	content := generate("kept", 1000)
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
	first, second := generate("first", 200_000), generate("second", 1000)
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
	content := generate("again", 500)
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
	content := generate("kept", 500)
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
	writer, err := written(writing, blobs, "blob", generate("lost", 500))
	if err != nil {
		return err
	}
	defer writer.Abort()
	cancel()
	_, err = writer.Write(generate("more", 500))
	if err := wantError("Write after the context of Create has ended", err, context.Canceled); err != nil {
		return err
	}
	if _, err := writer.Commit(ctx); err == nil {
		return errors.New("the call Commit succeeded after a Write had failed")
	}
	return isMissing(ctx, blobs, "blob")
}

func commitContext(ctx context.Context, blobs storage.Blobs) error {
	writer, err := written(ctx, blobs, "blob", generate("lost", 500))
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

// blobCalls calls every method and returns the error of each.
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
