package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/iotenablers/enablers/storage"
)

// racers is how many goroutines the checks of concurrency start.
const racers = 8

func documentRaceChecks() []check[storage.Documents] {
	return []check[storage.Documents]{
		{"no increment is lost", "of concurrent Updates at one revision exactly one succeeds, so that a counter kept by compare-and-set loses nothing", concurrentCounter},
		{"concurrent creates have one winner", "of concurrent Creates of one key exactly one succeeds, and its data stays", concurrentCreates},
		{"concurrent deletes have one winner", "of concurrent Deletes at one revision exactly one succeeds", concurrentDeletes},
		{"a listing during writes shows what stays", "a document that is there throughout is seen exactly once over all pages, in order, while others come and go", listDuringWrites},
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

func listDuringWrites(ctx context.Context, docs storage.Documents) error {
	stable := numbered(60)
	if _, err := createAll(ctx, docs, scattered(stable)); err != nil {
		return err
	}
	stop := make(chan struct{})
	written := make(chan error, 1)
	go func() { written <- comeAndGo(ctx, docs, stable, stop) }()
	err := listRepeatedly(ctx, docs, stable)
	close(stop)
	return errors.Join(err, <-written)
}

// comeAndGo creates and deletes documents between the stable ones.
func comeAndGo(ctx context.Context, docs storage.Documents, stable []string, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		key := stable[(i*13)%len(stable)] + "/passing"
		revision, err := docs.Create(ctx, key, []byte(`1`))
		if err != nil {
			return noError("Create", err)
		}
		if err := docs.Delete(ctx, key, revision); err != nil {
			return noError("Delete", err)
		}
	}
}

func listRepeatedly(ctx context.Context, docs storage.Documents, stable []string) error {
	for range 20 {
		var seen []string
		after := ""
		for {
			page, err := docs.List(ctx, "numbered/", after, 7)
			if err != nil {
				return noError("List", err)
			}
			for _, doc := range page {
				if doc.Key <= after {
					return fmt.Errorf("List gave %q behind %q", doc.Key, after)
				}
				after = doc.Key
				if len(doc.Key) == len(stable[0]) {
					seen = append(seen, doc.Key)
				}
			}
			if len(page) < 7 {
				break
			}
		}
		if err := sameKeys("a listing during writes", seen, stable); err != nil {
			return err
		}
	}
	return nil
}
