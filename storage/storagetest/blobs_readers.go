package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing/iotest"

	"github.com/iotenablers/enablers/storage"
)

func blobReaderChecks() []check[storage.Blobs] {
	return []check[storage.Blobs]{
		{
			"a reader seeks",
			"Seek works from the start, the position and the end, reports the position, and refuses one before the start",
			readerSeeks,
		},
		{
			"a reader conforms to io.Reader",
			"a reader passes testing/iotest: short reads, io.EOF at the end, seeking",
			readerConforms,
		},
		{
			"a reader outlives a replacement",
			"a reader goes on with the blob it was opened on when the key is replaced, backwards too",
			readerOutlivesReplace,
		},
		{
			"a reader outlives a delete",
			"a reader goes on with the blob it was opened on when the key is deleted, backwards too",
			readerOutlivesDelete,
		},
		{
			"a closed reader is closed",
			"after Close, Read and Seek return ErrClosed, Info still answers, and a second Close returns nil",
			closedReader,
		},
		{
			"the context of Open holds for the reader",
			"once the context of Open has ended, Read returns its error",
			readerContext,
		},
	}
}

func readerSeeks(ctx context.Context, blobs storage.Blobs) error {
	content := generate("ranges", 300_000)
	if _, err := put(ctx, blobs, "blob", content); err != nil {
		return err
	}
	reader, err := blobs.Open(ctx, "blob")
	if err != nil {
		return noError("Open", err)
	}
	defer reader.Close()
	position := int64(0)
	for _, move := range []struct {
		offset int64
		whence int
		want   int64
	}{
		{100_000, io.SeekStart, 100_000},
		{50_000, io.SeekCurrent, 150_050},
		{-100, io.SeekCurrent, 150_000},
		{-50, io.SeekEnd, 299_950},
		{0, io.SeekStart, 0},
		{1 << 18, io.SeekStart, 1 << 18},
		{-300_000, io.SeekEnd, 0},
		{0, io.SeekCurrent, 50},
	} {
		got, err := reader.Seek(move.offset, move.whence)
		if err != nil {
			return noError(fmt.Sprintf("Seek(%d, %d)", move.offset, move.whence), err)
		}
		if got != move.want {
			return fmt.Errorf("the call Seek(%d, %d) from %d returned %d, want %d", move.offset, move.whence, position, got,
				move.want)
		}
		part := make([]byte, 50)
		if _, err := io.ReadFull(reader, part); err != nil {
			return noError("Read after Seek", err)
		}
		if !bytes.Equal(part, content[got:got+50]) {
			return fmt.Errorf("after Seek to %d the bytes are not those at %d", got, got)
		}
		position = got + 50
	}
	if _, err := reader.Seek(10, io.SeekEnd); err != nil {
		return noError("Seek behind the end", err)
	}
	if n, err := reader.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("the call Read behind the end returned %d, %v, want io.EOF", n, err)
	}
	if _, err := reader.Seek(-1, io.SeekStart); err == nil {
		return errors.New("the call Seek before the start succeeded")
	}
	return nil
}

func readerConforms(ctx context.Context, blobs storage.Blobs) error {
	for _, size := range []int{0, 1, 4000} {
		content := generate("conforms", size)
		if _, err := put(ctx, blobs, "blob", content); err != nil {
			return err
		}
		reader, err := blobs.Open(ctx, "blob")
		if err != nil {
			return noError("Open", err)
		}
		err = errors.Join(iotest.TestReader(reader, content), reader.Close())
		if err != nil {
			return fmt.Errorf("a reader of %d bytes: %w", size, err)
		}
	}
	return nil
}

func readerOutlivesReplace(ctx context.Context, blobs storage.Blobs) error {
	return outlives(ctx, blobs, func() error {
		for round := range 3 {
			if _, err := put(ctx, blobs, "blob", generate(fmt.Sprint("replacement ", round), 2<<20)); err != nil {
				return err
			}
		}
		return nil
	})
}

func readerOutlivesDelete(ctx context.Context, blobs storage.Blobs) error {
	return outlives(ctx, blobs, func() error { return noError("Delete", blobs.Delete(ctx, "blob")) })
}

// outlives reads a blob while something happens to its key.
func outlives(ctx context.Context, blobs storage.Blobs, happen func() error) error {
	content := generate("old", 3<<20)
	if _, err := put(ctx, blobs, "blob", content); err != nil {
		return err
	}
	reader, err := blobs.Open(ctx, "blob")
	if err != nil {
		return noError("Open", err)
	}
	defer reader.Close()
	begun := make([]byte, 1000)
	if _, err := io.ReadFull(reader, begun); err != nil {
		return noError("Read", err)
	}
	if err := happen(); err != nil {
		return err
	}
	rest, err := io.ReadAll(reader)
	if err != nil {
		return noError("reading on", err)
	}
	if !bytes.Equal(append(begun, rest...), content) {
		return fmt.Errorf("the reader gave %d bytes that are not the %d of its blob", len(begun)+len(rest), len(content))
	}
	if _, err := reader.Seek(1<<20, io.SeekStart); err != nil {
		return noError("Seek", err)
	}
	again, err := io.ReadAll(reader)
	if err != nil {
		return noError("reading again", err)
	}
	if !bytes.Equal(again, content[1<<20:]) {
		return errors.New("after Seek the reader gave bytes that are not those of its blob")
	}
	return describes("Info of the reader", reader.Info(), "blob", content)
}

func closedReader(ctx context.Context, blobs storage.Blobs) error {
	content := generate("closed", 500)
	if _, err := put(ctx, blobs, "blob", content); err != nil {
		return err
	}
	reader, err := blobs.Open(ctx, "blob")
	if err != nil {
		return noError("Open", err)
	}
	if err := noError("Close", reader.Close()); err != nil {
		return err
	}
	_, err = reader.Read(make([]byte, 1))
	if err := wantError("Read after Close", err, storage.ErrClosed); err != nil {
		return err
	}
	_, err = reader.Seek(0, io.SeekStart)
	if err := wantError("Seek after Close", err, storage.ErrClosed); err != nil {
		return err
	}
	if err := noError("a second Close", reader.Close()); err != nil {
		return err
	}
	return describes("Info after Close", reader.Info(), "blob", content)
}

func readerContext(ctx context.Context, blobs storage.Blobs) error {
	if _, err := put(ctx, blobs, "blob", generate("long", 2<<20)); err != nil {
		return err
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	reader, err := blobs.Open(reading, "blob")
	if err != nil {
		return noError("Open", err)
	}
	defer reader.Close()
	if _, err := io.ReadFull(reader, make([]byte, 10)); err != nil {
		return noError("Read", err)
	}
	cancel()
	_, err = io.ReadAll(reader)
	return wantError("Read after the context of Open has ended", err, context.Canceled)
}
