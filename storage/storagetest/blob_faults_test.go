package storagetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

// brokenBlobs returns a fault made by changing a good store.
func brokenBlobs(what string, noticed []string, breakIt func(good storage.Blobs, f *faultyBlobs)) fault[storage.Blobs] {
	return fault[storage.Blobs]{what: what, noticed: noticed, open: func() storage.Blobs {
		good := storage.NewMemoryBlobs()
		f := &faultyBlobs{Blobs: good}
		breakIt(good, f)
		return f
	}}
}

// blobFaults are stores that are each wrong in one way, by what is wrong, with
// the checks that have to notice.
func blobFaults() []fault[storage.Blobs] {
	return slices.Concat(blobStoreFaults(), blobWriterFaults(), blobReaderFaults(), blobListFaults())
}

func blobStoreFaults() []fault[storage.Blobs] {
	return []fault[storage.Blobs]{
		brokenBlobs("deleting nothing succeeds", []string{"a missing blob is not found"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.delete = func(ctx context.Context, key string) error {
					if err := good.Delete(ctx, key); !errors.Is(err, storage.ErrNotFound) {
						return err
					}
					return nil
				}
			}),
		brokenBlobs("digests are those of an empty blob", []string{"a committed blob reads back"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.stat = func(ctx context.Context, key string) (storage.BlobInfo, error) {
					info, err := good.Stat(ctx, key)
					if err == nil {
						info.MD5 = "d41d8cd98f00b204e9800998ecf8427e"
					}
					return info, err
				}
			}),
		brokenBlobs("delete leaves the blob", []string{"a deleted blob is gone"}, func(good storage.Blobs, f *faultyBlobs) {
			f.delete = func(ctx context.Context, key string) error {
				_, err := good.Stat(ctx, key)
				return err
			}
		}),
		brokenBlobs("the context is ignored", []string{"an ended context stops every blob method"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.stat = func(ctx context.Context, key string) (storage.BlobInfo, error) {
					return good.Stat(context.WithoutCancel(ctx), key)
				}
			}),
		brokenBlobs("any key goes", []string{"invalid blob keys are refused"}, func(good storage.Blobs, f *faultyBlobs) {
			f.create = func(ctx context.Context, _ string) (storage.BlobWriter, error) { return good.Create(ctx, "any") }
		}),
		brokenBlobs("keys do not tell cases apart", []string{"blob keys are opaque"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.create = func(ctx context.Context, key string) (storage.BlobWriter, error) {
					return good.Create(ctx, strings.ToLower(key))
				}
			}),
		brokenBlobs("keys are cut", []string{"long blob keys are kept"}, func(good storage.Blobs, f *faultyBlobs) {
			f.create = func(ctx context.Context, key string) (storage.BlobWriter, error) {
				return good.Create(ctx, key[:min(len(key), 300)])
			}
		}),
		brokenBlobs("a blob that is not there fails in its own way",
			[]string{
				"a missing blob is not found",
				"a reader beside deletes sees all or nothing",
			}, func(good storage.Blobs, f *faultyBlobs) {
				f.open = func(ctx context.Context, key string) (storage.BlobReader, error) {
					reader, err := good.Open(ctx, key)
					if errors.Is(err, storage.ErrNotFound) {
						err = errors.New("no such file")
					}
					return reader, err
				}
			}),
	}
}

func blobWriterFaults() []fault[storage.Blobs] {
	brokenWriter := func(what string, noticed []string, breakIt func(w *faultyWriter)) fault[storage.Blobs] {
		return brokenBlobs(what, noticed, func(_ storage.Blobs, f *faultyBlobs) { f.writer = breakIt })
	}
	return []fault[storage.Blobs]{
		brokenWriter("only the last write counts", []string{"small writes add up"}, func(w *faultyWriter) {
			var last []byte
			w.write = func(p []byte) (int, error) {
				last = bytes.Clone(p)
				return len(p), nil
			}
			w.commit = func(ctx context.Context) (storage.BlobInfo, error) {
				if _, err := w.BlobWriter.Write(last); err != nil {
					return storage.BlobInfo{}, err
				}
				return w.BlobWriter.Commit(ctx)
			}
		}),
		brokenWriter("written bytes are shared", []string{"written bytes are copied"}, func(w *faultyWriter) {
			var shared [][]byte
			w.write = func(p []byte) (int, error) {
				shared = append(shared, p)
				return len(p), nil
			}
			w.commit = func(ctx context.Context) (storage.BlobInfo, error) {
				if _, err := w.BlobWriter.Write(bytes.Join(shared, nil)); err != nil {
					return storage.BlobInfo{}, err
				}
				return w.BlobWriter.Commit(ctx)
			}
		}),
		brokenWriter("every write is visible",
			[]string{"a blob is invisible before its commit", "an abort leaves nothing"}, func(w *faultyWriter) {
				w.write = func(p []byte) (int, error) {
					if _, err := put(context.Background(), w.store, w.key, p); err != nil {
						return 0, err
					}
					return w.BlobWriter.Write(p)
				}
			}),
		brokenWriter("an abort commits", []string{"an abort leaves nothing"}, func(w *faultyWriter) {
			w.abort = func() error {
				if _, err := w.BlobWriter.Commit(context.Background()); !errors.Is(err, storage.ErrClosed) {
					return err
				}
				return nil
			}
		}),
		brokenWriter("an abort deletes the blob", []string{"an abort after the commit does nothing"}, func(w *faultyWriter) {
			w.abort = func() error {
				if err := w.store.Delete(context.Background(), w.key); !errors.Is(err, storage.ErrNotFound) {
					return err
				}
				return w.BlobWriter.Abort()
			}
		}),
		brokenWriter("a finished writer swallows what it is given", []string{"a finished writer is closed"},
			func(w *faultyWriter) {
				w.write = func(p []byte) (int, error) {
					if n, err := w.BlobWriter.Write(p); !errors.Is(err, storage.ErrClosed) {
						return n, err
					}
					return len(p), nil
				}
			}),
		brokenWriter("a writer may commit twice",
			[]string{"a finished writer is closed", "the context of Commit holds for the commit"}, func(w *faultyWriter) {
				w.commit = func(ctx context.Context) (storage.BlobInfo, error) {
					info, err := w.BlobWriter.Commit(ctx)
					if errors.Is(err, storage.ErrClosed) {
						err = nil
					}
					return info, err
				}
			}),
		brokenWriter("the first commit stays", []string{"the last commit stays"}, func(w *faultyWriter) {
			w.commit = func(ctx context.Context) (storage.BlobInfo, error) {
				if info, err := w.store.Stat(ctx, w.key); err == nil {
					return info, w.Abort()
				}
				return w.BlobWriter.Commit(ctx)
			}
		}),
		brokenWriter("the context of Commit is ignored", []string{"the context of Commit holds for the commit"},
			func(w *faultyWriter) {
				w.commit = func(ctx context.Context) (storage.BlobInfo, error) {
					return w.BlobWriter.Commit(context.WithoutCancel(ctx))
				}
			}),
		brokenBlobs("the context of Create is ignored", []string{"the context of Create holds for the writer"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.create = func(ctx context.Context, key string) (storage.BlobWriter, error) {
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					return good.Create(context.WithoutCancel(ctx), key)
				}
			}),
	}
}

func blobReaderFaults() []fault[storage.Blobs] {
	brokenReader := func(what string, noticed []string, breakIt func(r *faultyReader)) fault[storage.Blobs] {
		return brokenBlobs(what, noticed, func(_ storage.Blobs, f *faultyBlobs) { f.reader = breakIt })
	}
	var described sync.Map // of the store in the fault that uses it
	return []fault[storage.Blobs]{
		brokenReader("the end counts backwards", []string{"a reader seeks"}, func(r *faultyReader) {
			r.seek = func(offset int64, whence int) (int64, error) {
				if whence == io.SeekEnd {
					offset = -offset
				}
				return r.BlobReader.Seek(offset, whence)
			}
		}),
		brokenReader("before the start is the start", []string{"a reader seeks"}, func(r *faultyReader) {
			r.seek = func(offset int64, whence int) (int64, error) {
				if whence == io.SeekStart {
					offset = max(offset, 0)
				}
				return r.BlobReader.Seek(offset, whence)
			}
		}),
		brokenReader("the end is an error", []string{"a reader conforms to io.Reader"}, func(r *faultyReader) {
			r.read = func(p []byte) (int, error) {
				n, err := r.BlobReader.Read(p)
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return n, err
			}
		}),
		brokenReader("a reader follows its key",
			[]string{"a reader outlives a replacement", "a reader outlives a delete"}, func(r *faultyReader) {
				r.read = func(p []byte) (int, error) {
					at, err := r.BlobReader.Seek(0, io.SeekCurrent)
					if err != nil {
						return 0, err
					}
					now, err := r.store.Open(context.Background(), r.key)
					if err != nil {
						return 0, err
					}
					r.BlobReader = now
					if _, err := r.BlobReader.Seek(at, io.SeekStart); err != nil {
						return 0, err
					}
					return r.BlobReader.Read(p)
				}
			}),
		brokenReader("Close does nothing", []string{"a closed reader is closed"}, func(r *faultyReader) {
			r.close = func() error { return nil }
		}),
		brokenReader("a second Close fails", []string{"a closed reader is closed"}, func(r *faultyReader) {
			closed := false
			r.close = func() error {
				if closed {
					return storage.ErrClosed
				}
				closed = true
				return r.BlobReader.Close()
			}
		}),
		brokenBlobs("the context of Open is ignored", []string{"the context of Open holds for the reader"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.open = func(ctx context.Context, key string) (storage.BlobReader, error) {
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					return good.Open(context.WithoutCancel(ctx), key)
				}
			}),
		brokenReader("a replaced blob keeps its description",
			[]string{"concurrent writers leave one whole blob", "a committed blob reads back"}, func(r *faultyReader) {
				info := r.BlobReader.Info()
				first, _ := described.LoadOrStore(r.store, &info)
				r.info = first.(*storage.BlobInfo)
			}),
	}
}

func blobListFaults() []fault[storage.Blobs] {
	// brokenList makes a store that changes what a whole listing is.
	brokenList := func(what string, noticed []string,
		change func(prefix string, infos []storage.BlobInfo) []storage.BlobInfo) fault[storage.Blobs] {
		return brokenBlobs(what, noticed, func(good storage.Blobs, f *faultyBlobs) {
			f.list = func(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
				return func(yield func(storage.BlobInfo, error) bool) {
					infos, err := listed(ctx, good, prefix)
					if err != nil {
						yield(storage.BlobInfo{}, err)
						return
					}
					for _, info := range change(prefix, infos) {
						if !yield(info, nil) {
							return
						}
					}
				}
			}
		})
	}
	return []fault[storage.Blobs]{
		brokenList("a listing is not in order",
			[]string{
				"a listing of blobs is in byte order",
				"a long listing is complete",
			}, func(_ string, infos []storage.BlobInfo) []storage.BlobInfo {
				slices.Reverse(infos)
				return infos
			}),
		brokenList("the prefix is a folder", []string{"a listing of blobs keeps to its prefix"},
			func(prefix string, infos []storage.BlobInfo) []storage.BlobInfo {
				return slices.DeleteFunc(infos, func(info storage.BlobInfo) bool {
					return prefix != "" && !strings.HasSuffix(prefix, "/") && !strings.HasPrefix(info.Key, prefix+"/")
				})
			}),
		brokenList("a listing ends after a page", []string{"a long listing is complete"},
			func(_ string, infos []storage.BlobInfo) []storage.BlobInfo {
				return infos[:min(len(infos), 500)]
			}),
		brokenBlobs("a listing goes by number", []string{"the body of a listing may use the store"},
			func(good storage.Blobs, f *faultyBlobs) {
				f.list = func(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
					return func(yield func(storage.BlobInfo, error) bool) {
						for i := 0; ; i++ {
							infos, err := listed(ctx, good, prefix)
							if err != nil {
								yield(storage.BlobInfo{}, err)
								return
							}
							if i >= len(infos) || !yield(infos[i], nil) {
								return
							}
						}
					}
				}
			}),
		brokenBlobs("a write during a listing hides a blob",
			[]string{"a listing of blobs during writes shows what stays"}, func(good storage.Blobs, f *faultyBlobs) {
				var writes atomic.Int64
				f.create = func(ctx context.Context, key string) (storage.BlobWriter, error) {
					writes.Add(1)
					return good.Create(ctx, key)
				}
				f.list = func(ctx context.Context, prefix string) iter.Seq2[storage.BlobInfo, error] {
					return func(yield func(storage.BlobInfo, error) bool) {
						before := writes.Load()
						for info, err := range good.List(ctx, prefix) {
							if now := writes.Load(); now != before {
								before = now
								continue
							}
							if !yield(info, err) {
								return
							}
						}
					}
				}
			}),
	}
}
