package storagetest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"github.com/iotenablers/enablers/storage"
)

// documentFaults are stores that are each wrong in one way, by what is wrong,
// with the checks that have to notice.
func documentFaults() []fault[storage.Documents] {
	broken := func(what string, noticed []string,
		breakIt func(good storage.Documents, f *faultyDocuments)) fault[storage.Documents] {
		return fault[storage.Documents]{what: what, noticed: noticed, open: func() storage.Documents {
			good := storage.NewMemoryDocuments()
			f := &faultyDocuments{Documents: good}
			breakIt(good, f)
			return f
		}}
	}
	return []fault[storage.Documents]{
		broken("an absent document is an empty one",
			[]string{"a missing key is not found", "a delete needs the current revision"},
			func(good storage.Documents, f *faultyDocuments) {
				f.get = func(ctx context.Context, key string) (storage.Document, error) {
					doc, err := good.Get(ctx, key)
					if errors.Is(err, storage.ErrNotFound) {
						return storage.Document{Key: key}, nil
					}
					return doc, err
				}
			}),
		broken("errors do not name the key", []string{"a missing key is not found"},
			func(good storage.Documents, f *faultyDocuments) {
				f.get = func(ctx context.Context, key string) (storage.Document, error) {
					doc, err := good.Get(ctx, key)
					if errors.Is(err, storage.ErrNotFound) {
						err = storage.ErrNotFound
					}
					return doc, err
				}
			}),
		broken("data is normalised", []string{"a created document reads back"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					if storage.ValidData(data) == nil {
						data = bytes.TrimSpace(data)
					}
					return good.Create(ctx, key, data)
				}
			}),
		broken("create overwrites", []string{"a taken key is refused", "concurrent creates have one winner"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					for {
						revision, err := good.Create(ctx, key, data)
						if !errors.Is(err, storage.ErrExists) {
							return revision, err
						}
						if doc, err := good.Get(ctx, key); err == nil {
							if revision, err := good.Update(ctx, key, doc.Revision, data); err == nil {
								return revision, nil
							}
						}
					}
				}
			}),
		broken("update does not compare",
			[]string{
				"an update needs the current revision",
				"revisions are not used again",
				"concurrent updates have one winner",
			},
			func(good storage.Documents, f *faultyDocuments) {
				f.update = func(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
					for {
						if doc, err := good.Get(ctx, key); err == nil {
							prev = doc.Revision
						}
						if revision, err := good.Update(ctx, key, prev, data); !errors.Is(err, storage.ErrConflict) {
							return revision, err
						}
					}
				}
			}),
		broken("the zero revision matches everything", []string{"an update needs the current revision"},
			func(good storage.Documents, f *faultyDocuments) {
				f.update = func(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
					if doc, err := good.Get(ctx, key); err == nil && prev == 0 {
						prev = doc.Revision
					}
					return good.Update(ctx, key, prev, data)
				}
			}),
		broken("delete does not compare",
			[]string{"a delete needs the current revision", "nothing is lost between changes and removals"},
			func(good storage.Documents, f *faultyDocuments) {
				f.delete = func(ctx context.Context, key string, prev storage.Revision) error {
					if doc, err := good.Get(ctx, key); err == nil {
						prev = doc.Revision
					}
					return good.Delete(ctx, key, prev)
				}
			}),
		broken("deleting nothing succeeds", []string{"a missing key is not found", "concurrent deletes have one winner"},
			func(good storage.Documents, f *faultyDocuments) {
				f.delete = func(ctx context.Context, key string, prev storage.Revision) error {
					if err := good.Delete(ctx, key, prev); !errors.Is(err, storage.ErrNotFound) {
						return err
					}
					return nil
				}
			}),
		{"each key counts its revisions from one", []string{"revisions are not used again"}, newRestartingDocuments},
		broken("given bytes are shared", []string{"given bytes are copied"},
			func(good storage.Documents, f *faultyDocuments) {
				var mu sync.Mutex
				shared := make(map[string][]byte)
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					mu.Lock()
					defer mu.Unlock()
					revision, err := good.Create(ctx, key, data)
					if err == nil {
						shared[key] = data
					}
					return revision, err
				}
				f.get = func(ctx context.Context, key string) (storage.Document, error) {
					mu.Lock()
					defer mu.Unlock()
					doc, err := good.Get(ctx, key)
					if data, found := shared[key]; found && err == nil {
						doc.Data = bytes.Clone(data)
					}
					return doc, err
				}
			}),
		broken("returned bytes are shared", []string{"returned bytes are copied"},
			func(good storage.Documents, f *faultyDocuments) {
				var cache sync.Map
				f.get = func(ctx context.Context, key string) (storage.Document, error) {
					doc, err := good.Get(ctx, key)
					if err != nil {
						return doc, err
					}
					cached, _ := cache.LoadOrStore(doc.Revision, doc)
					return cached.(storage.Document), nil
				}
			}),
		broken("null is no document", []string{"the smallest documents are kept"},
			func(good storage.Documents, f *faultyDocuments) {
				f.get = func(ctx context.Context, key string) (storage.Document, error) {
					doc, err := good.Get(ctx, key)
					if err == nil && string(doc.Data) == "null" {
						return storage.Document{}, storage.ErrNotFound
					}
					return doc, err
				}
			}),
		broken("documents end at a megabyte", []string{"the largest document is kept"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					if len(data) > 1<<20 {
						return 0, storage.ErrInvalidData
					}
					return good.Create(ctx, key, data)
				}
			}),
		broken("anything is JSON", []string{"data that is not JSON is refused"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					if len(data) > 0 && storage.ValidData(data) != nil {
						data = []byte(`"something"`)
					}
					return good.Create(ctx, key, data)
				}
			}),
		broken("the context is ignored", []string{"an ended context stops every method"},
			func(good storage.Documents, f *faultyDocuments) {
				f.update = func(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
					return good.Update(context.WithoutCancel(ctx), key, prev, data)
				}
			}),
		broken("a write happens in spite of the context", []string{"an ended context stops every method"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					revision, err := good.Create(context.WithoutCancel(ctx), key, data)
					return revision, errors.Join(err, ctx.Err())
				}
			}),
		broken("any key goes", []string{"invalid keys are refused"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					return good.Create(ctx, "any", data)
				}
			}),
		broken("keys are cleaned like paths", []string{"keys are opaque"}, foldKeys(func(key string) string {
			return strings.ReplaceAll(key, "//", "/")
		})),
		broken("keys do not tell cases apart", []string{"keys are opaque"}, foldKeys(strings.ToLower)),
		broken("keys are cut", []string{"long keys are kept"}, foldKeys(func(key string) string {
			return key[:min(len(key), 400)]
		})),
		broken("long keys are refused", []string{"long keys are kept"},
			func(good storage.Documents, f *faultyDocuments) {
				f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
					if len(key) > 255 {
						return 0, storage.ErrInvalidKey
					}
					return good.Create(ctx, key, data)
				}
			}),
		broken("a page is not in order", []string{"a listing is in byte order"},
			changePage(func(page []storage.Document) []storage.Document {
				slices.Reverse(page)
				return page
			})),
		broken("keys are ordered as UTF-16", []string{"a listing is in byte order"},
			changePage(func(page []storage.Document) []storage.Document {
				slices.SortStableFunc(page, func(a, b storage.Document) int {
					return slices.Compare(utf16.Encode([]rune(a.Key)), utf16.Encode([]rune(b.Key)))
				})
				return page
			})),
		broken("the prefix is a folder", []string{"a listing keeps to its prefix"},
			func(good storage.Documents, f *faultyDocuments) {
				f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
					page, err := good.List(ctx, prefix, after, limit)
					return slices.DeleteFunc(page, func(doc storage.Document) bool {
						return prefix != "" && !strings.HasSuffix(prefix, "/") && !strings.HasPrefix(doc.Key, prefix+"/")
					}), err
				}
			}),
		broken("after is included", []string{"a listing starts behind after", "pages follow each other"},
			func(good storage.Documents, f *faultyDocuments) {
				f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
					page, err := good.List(ctx, prefix, after, limit)
					if doc, getErr := good.Get(ctx, after); getErr == nil && strings.HasPrefix(after, prefix) {
						page = append([]storage.Document{doc}, page...)
					}
					return page, err
				}
			}),
		broken("after has to be a key", []string{"a listing starts behind after"},
			func(good storage.Documents, f *faultyDocuments) {
				f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
					if _, err := good.Get(ctx, after); errors.Is(err, storage.ErrNotFound) {
						after = ""
					}
					return good.List(ctx, prefix, after, limit)
				}
			}),
		broken("pages are short", []string{"pages follow each other"},
			func(good storage.Documents, f *faultyDocuments) {
				f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
					return good.List(ctx, prefix, after, min(limit, 3))
				}
			}),
		broken("a limit of zero is none", []string{"a limit of zero is the default page"},
			func(good storage.Documents, f *faultyDocuments) {
				f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
					if limit <= 0 {
						limit = 1 << 30
					}
					return good.List(ctx, prefix, after, limit)
				}
			}),
		broken("update checks and then acts", []string{"no increment is lost"},
			func(good storage.Documents, f *faultyDocuments) {
				f.update = func(ctx context.Context, key string, prev storage.Revision, data []byte) (storage.Revision, error) {
					doc, err := good.Get(ctx, key)
					if err != nil {
						return 0, err
					}
					if doc.Revision != prev {
						return 0, storage.ErrConflict
					}
					for range 100 {
						runtime.Gosched() // time for the others to check as well
					}
					for {
						if doc, err = good.Get(ctx, key); err != nil {
							return 0, err
						}
						if revision, err := good.Update(ctx, key, doc.Revision, data); err == nil {
							return revision, nil
						}
					}
				}
			}),
		broken("a write between two pages shifts them", []string{"a listing during writes shows what stays"},
			skipAfterWrites),
	}
}

// foldKeys makes a store that confuses keys.
func foldKeys(fold func(string) string) func(good storage.Documents, f *faultyDocuments) {
	return func(good storage.Documents, f *faultyDocuments) {
		f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
			if storage.ValidKey(key) != nil {
				return good.Create(ctx, key, data)
			}
			return good.Create(ctx, fold(key), data)
		}
	}
}

// changePage makes a store that changes every page.
func changePage(change func(page []storage.Document) []storage.Document) func(good storage.Documents,
	f *faultyDocuments) {
	return func(good storage.Documents, f *faultyDocuments) {
		f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
			page, err := good.List(ctx, prefix, after, limit)
			return change(page), err
		}
	}
}

// skipAfterWrites makes a store whose pages are counted, so that a write
// between two pages shifts what comes next.
func skipAfterWrites(good storage.Documents, f *faultyDocuments) {
	var creates atomic.Int64
	f.create = func(ctx context.Context, key string, data []byte) (storage.Revision, error) {
		revision, err := good.Create(ctx, key, data)
		creates.Add(1)
		return revision, err
	}
	var listed atomic.Int64
	f.list = func(ctx context.Context, prefix, after string, limit int) ([]storage.Document, error) {
		now := creates.Load()
		page, err := good.List(ctx, prefix, after, limit)
		if before := listed.Swap(now); after != "" && before != now && len(page) > 0 {
			page = page[1:]
		}
		return page, err
	}
}
