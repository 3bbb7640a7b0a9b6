package storagetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

// racers is how many goroutines the checks of concurrency start.
const racers = 8

func documentRaceChecks() []check[storage.Documents] {
	return []check[storage.Documents]{
		{
			"no increment is lost",
			"a counter that many keep by compare-and-set counts every acknowledged increment",
			concurrentCounter,
		},
		{
			"nothing is lost between changes and removals",
			"a document that some change and others remove has each acknowledged entry once, or one removal has seen it",
			concurrentRemovals,
		},
		{
			"concurrent updates have one winner",
			"of concurrent Updates at one revision exactly one succeeds, the others get ErrConflict, and its data stays",
			concurrentUpdates,
		},
		{
			"concurrent creates have one winner",
			"of concurrent Creates of one key exactly one succeeds, and its data stays",
			concurrentCreates,
		},
		{
			"concurrent deletes have one winner",
			"of concurrent Deletes at one revision exactly one succeeds",
			concurrentDeletes,
		},
		{
			"a listing during writes shows what stays",
			"a document that is there throughout is seen exactly once over all pages, in order, while others come and go",
			listDuringWrites,
		},
	}
}

func concurrentCounter(ctx context.Context, docs storage.Documents) error {
	const rounds = 15
	if _, err := docs.Create(ctx, "counter", []byte(`0`)); err != nil {
		return noError("Create", err)
	}
	err := together(racers, func(int) error {
		for range rounds {
			_, err := storage.Change(ctx, docs, "counter", func(found storage.Document) ([]byte, error) {
				count, err := strconv.Atoi(string(found.Data))
				if err != nil {
					return nil, fmt.Errorf("the counter reads %q", found.Data)
				}
				runtime.Gosched() // so that several reads precede one write
				return []byte(strconv.Itoa(count + 1)), nil
			})
			if err != nil {
				return noError("storage.Change", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	doc, err := docs.Get(ctx, "counter")
	if err != nil {
		return noError("Get", err)
	}
	if want := strconv.Itoa(racers * rounds); string(doc.Data) != want {
		return fmt.Errorf("after %s acknowledged increments the counter reads %s", want, doc.Data)
	}
	return nil
}

// concurrentRemovals adds to a document, which the first addition after a removal creates, and collects what
// the removals have deleted. There is an addition in the middle of each removal.
func concurrentRemovals(ctx context.Context, docs storage.Documents) error {
	const rounds = 15
	var added, removed atomic.Int64
	add := func() error {
		_, err := storage.Change(ctx, docs, "basket", func(found storage.Document) ([]byte, error) {
			n, err := basketSize(found.Data)
			return []byte(strconv.Itoa(n + 1)), err
		})
		if err == nil {
			added.Add(1)
		}
		return noError("storage.Change", err)
	}
	remove := func() error {
		n, first := 0, true
		err := storage.Remove(ctx, docs, "basket", func(found storage.Document) (remove bool, err error) {
			if n, err = basketSize(found.Data); err == nil && first {
				first, err = false, add()
			}
			return true, err
		})
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		removed.Add(int64(n))
		return noError("storage.Remove", err)
	}
	err := together(racers, func(racer int) error {
		for range rounds {
			do := add
			if racer%2 == 1 {
				do = remove
			}
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	doc, err := docs.Get(ctx, "basket")
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return noError("Get", err)
	}
	left, err := basketSize(doc.Data)
	if err != nil {
		return err
	}
	if sum := removed.Load() + int64(left); sum != added.Load() {
		return fmt.Errorf("of %d acknowledged entries, %d are in the document or were seen by a removal", added.Load(), sum)
	}
	return nil
}

// basketSize reads the number that is stored, where no document counts as 0.
func basketSize(data []byte) (int, error) {
	if data == nil {
		return 0, nil
	}
	return strconv.Atoi(string(data))
}

func concurrentUpdates(ctx context.Context, docs storage.Documents) error {
	prev, err := docs.Create(ctx, "contested", []byte(`"first"`))
	if err != nil {
		return noError("Create", err)
	}
	for range 10 {
		var winner atomic.Pointer[storage.Document]
		err := together(racers, func(racer int) error {
			data := []byte(strconv.Itoa(racer))
			revision, err := docs.Update(ctx, "contested", prev, data)
			if err != nil {
				return wantError("Update", err, storage.ErrConflict)
			}
			if !winner.CompareAndSwap(nil, &storage.Document{Revision: revision, Data: data}) {
				return fmt.Errorf("a second Update at the revision %d succeeded", prev)
			}
			return nil
		})
		if err != nil {
			return err
		}
		won := winner.Load()
		if won == nil {
			return errors.New("no Update succeeded")
		}
		if err := isDocument(ctx, docs, "contested", won.Revision, won.Data); err != nil {
			return err
		}
		prev = won.Revision
	}
	return nil
}

func concurrentCreates(ctx context.Context, docs storage.Documents) error {
	for round := range 10 {
		key := fmt.Sprintf("contested/%d", round)
		var winner atomic.Pointer[storage.Document]
		err := together(racers, func(racer int) error {
			data := []byte(strconv.Itoa(racer))
			revision, err := docs.Create(ctx, key, data)
			if err != nil {
				return wantError("Create", err, storage.ErrExists)
			}
			if !winner.CompareAndSwap(nil, &storage.Document{Key: key, Revision: revision, Data: data}) {
				return errors.New("a second Create of one key succeeded")
			}
			return nil
		})
		if err != nil {
			return err
		}
		won := winner.Load()
		if won == nil {
			return errors.New("no Create succeeded")
		}
		if err := isDocument(ctx, docs, key, won.Revision, won.Data); err != nil {
			return err
		}
	}
	return nil
}

func concurrentDeletes(ctx context.Context, docs storage.Documents) error {
	for round := range 10 {
		key := fmt.Sprintf("contested/%d", round)
		revision, err := docs.Create(ctx, key, []byte(`1`))
		if err != nil {
			return noError("Create", err)
		}
		var wins atomic.Int32
		err = together(racers, func(int) error {
			err := docs.Delete(ctx, key, revision)
			if err == nil {
				wins.Add(1)
				return nil
			}
			return wantError("Delete", err, storage.ErrNotFound)
		})
		if err != nil {
			return err
		}
		if wins.Load() != 1 {
			return fmt.Errorf("%d of %d Deletes of one document succeeded", wins.Load(), racers)
		}
	}
	return nil
}

// passes is how often keys are written and deleted during a listing check.
const passes = 30

func listDuringWrites(ctx context.Context, docs storage.Documents) error {
	stable := numbered(60)
	if _, err := createAll(ctx, docs, scattered(stable)); err != nil {
		return err
	}
	comeAndGo := func(key string) error {
		revision, err := docs.Create(ctx, key, []byte(`1`))
		if err != nil {
			return noError("Create", err)
		}
		return noError("Delete", docs.Delete(ctx, key, revision))
	}
	return whileOthersComeAndGo(stable, comeAndGo, func(disturb func() error) error {
		return listStable(ctx, docs, stable, disturb)
	})
}

// whileOthersComeAndGo calls list again and again while keys between the
// stable ones are written and deleted by another goroutine, and by list itself
// each time it calls disturb.
func whileOthersComeAndGo(stable []string, comeAndGo func(key string) error,
	list func(disturb func() error) error) error {
	passed := make(chan error, 1)
	go func() {
		for i := range passes {
			if err := comeAndGo(stable[(i*13)%len(stable)] + "/passing"); err != nil {
				passed <- err
				return
			}
		}
		passed <- nil
	}()
	turn := 0
	disturb := func() error {
		turn++
		return comeAndGo(stable[(turn*7)%len(stable)] + "/disturbing")
	}
	var errs []error
	for {
		if err := list(disturb); err != nil {
			errs = append(errs, err)
		}
		select {
		case err := <-passed:
			return errors.Join(append(errs, err)...)
		default:
		}
	}
}

func listStable(ctx context.Context, docs storage.Documents, stable []string, disturb func() error) error {
	var seen []string
	after := ""
	for {
		page, err := docs.List(ctx, "numbered/", after, 7)
		if err != nil {
			return noError("List", err)
		}
		for _, doc := range page {
			if doc.Key <= after {
				return fmt.Errorf("the call List gave %q behind %q", doc.Key, after)
			}
			after = doc.Key
			if len(doc.Key) == len(stable[0]) {
				seen = append(seen, doc.Key)
			}
		}
		if len(page) < 7 {
			return sameKeys("a listing during writes", seen, stable)
		}
		if err := disturb(); err != nil {
			return err
		}
	}
}
