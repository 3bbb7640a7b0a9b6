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
		for done := 0; done < rounds; {
			doc, err := docs.Get(ctx, "counter")
			if err != nil {
				return noError("Get", err)
			}
			count, err := strconv.Atoi(string(doc.Data))
			if err != nil {
				return fmt.Errorf("the counter reads %q", doc.Data)
			}
			runtime.Gosched() // so that several reads precede one write
			_, err = docs.Update(ctx, "counter", doc.Revision, []byte(strconv.Itoa(count+1)))
			switch {
			case err == nil:
				done++
			case !errors.Is(err, storage.ErrConflict):
				return noError("Update", err)
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
