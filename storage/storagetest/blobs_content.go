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
	"math/rand/v2"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// generate returns bytes that follow from the name and repeat nowhere.
func generate(name string, size int) []byte {
	content := make([]byte, size)
	rand.NewChaCha8(sha256.Sum256([]byte(name))).Read(content) // never fails
	return content
}

// written returns a writer with the content written to it.
func written(ctx context.Context, blobs storage.Blobs, key string, content []byte) (storage.BlobWriter, error) {
	writer, err := blobs.Create(ctx, key)
	if err != nil {
		return nil, noError(fmt.Sprintf("Create of %.40q", key), err)
	}
	if n, err := writer.Write(content); n != len(content) || err != nil {
		return nil, fmt.Errorf("the call Write of %d bytes returned %d, %w", len(content), n,
			errors.Join(err, writer.Abort()))
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
		return fmt.Errorf("the call List by the whole key %.100q gave nothing", key)
	}
	if err := describes("List", infos[0], key, content); err != nil {
		return err
	}
	if !infos[0].Modified.Equal(info.Modified) || !reader.Info().Modified.Equal(info.Modified) {
		return fmt.Errorf("the time Modified is %v in List, %v in Info and %v in Stat", infos[0].Modified,
			reader.Info().Modified, info.Modified)
	}
	return nil
}

// describes returns an error unless the info describes the content.
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
		return fmt.Errorf("the call Open returned %v, want not found", err)
	}
	if _, err := blobs.Stat(ctx, key); !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("the call Stat returned %v, want not found", err)
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
