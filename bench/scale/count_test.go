package scale_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// tally is what was asked of a store.
type tally struct {
	gets, lists, writes, refused      float64 // refused writes found another revision
	documents, bytesRead, bytesStored float64
	blobs, blobsRead                  float64 // that were written and opened
}

func (t tally) minus(o tally) tally {
	return tally{
		t.gets - o.gets, t.lists - o.lists, t.writes - o.writes, t.refused - o.refused,
		t.documents - o.documents, t.bytesRead - o.bytesRead, t.bytesStored - o.bytesStored,
		t.blobs - o.blobs, t.blobsRead - o.blobsRead,
	}
}

func (t tally) over(n float64) tally {
	return tally{
		t.gets / n, t.lists / n, t.writes / n, t.refused / n, t.documents / n, t.bytesRead / n, t.bytesStored / n,
		t.blobs / n, t.blobsRead / n,
	}
}

// meter counts what its stores are asked. Each call takes the delay.
type meter struct {
	delay time.Duration
	mu    sync.Mutex
	now   tally
}

func (m *meter) count(change func(*tally)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.now)
}

func (m *meter) read() tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *meter) documents(below storage.Documents) storage.Documents {
	return countedDocuments{below, m}
}
func (m *meter) blobs(below storage.Blobs) storage.Blobs { return countedBlobs{below, m} }

type countedDocuments struct {
	storage.Documents
	meter *meter
}

func (d countedDocuments) Get(ctx context.Context, key string) (storage.Document, error) {
	d.meter.wait()
	document, err := d.Documents.Get(ctx, key)
	d.meter.count(func(t *tally) {
		t.gets++
		t.bytesRead += float64(len(document.Data))
	})
	return document, err
}

func (d countedDocuments) List(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
	d.meter.wait()
	page, err := d.Documents.List(ctx, prefix, after, limit)
	d.meter.count(func(t *tally) {
		t.lists++
		t.documents += float64(len(page))
		for _, document := range page {
			t.bytesRead += float64(len(document.Data))
		}
	})
	return page, err
}

func (d countedDocuments) write(data []byte, err error) {
	d.meter.count(func(t *tally) {
		t.writes++
		t.bytesStored += float64(len(data))
		if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrExists) {
			t.refused++
		}
	})
}

func (d countedDocuments) Create(ctx context.Context, key string, data []byte) (storage.Revision, error) {
	d.meter.wait()
	revision, err := d.Documents.Create(ctx, key, data)
	d.write(data, err)
	return revision, err
}

func (d countedDocuments) Update(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
	d.meter.wait()
	revision, err := d.Documents.Update(ctx, key, prev, data)
	d.write(data, err)
	return revision, err
}

func (d countedDocuments) Delete(ctx context.Context, key string, prev storage.Revision) error {
	d.meter.wait()
	err := d.Documents.Delete(ctx, key, prev)
	d.write(nil, err)
	return err
}

type countedBlobs struct {
	storage.Blobs
	meter *meter
}

func (b countedBlobs) Create(ctx context.Context, key string) (storage.BlobWriter, error) {
	b.meter.wait()
	b.meter.count(func(t *tally) { t.blobs++ })
	return b.Blobs.Create(ctx, key)
}

func (b countedBlobs) Open(ctx context.Context, key string) (storage.BlobReader, error) {
	b.meter.wait()
	b.meter.count(func(t *tally) { t.blobsRead++ })
	return b.Blobs.Open(ctx, key)
}

// heap returns the bytes that are in use.
func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc + stats.StackInuse)
}
