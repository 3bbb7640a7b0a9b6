package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// manyDocuments is more than two default pages, and no multiple of one.
const manyDocuments = 2*storage.DefaultPage + 345

func documentKeyChecks() []check[storage.Documents] {
	return []check[storage.Documents]{
		{
			"invalid keys are refused",
			"every method returns ErrInvalidKey for a key, prefix or after that ValidKey refuses",
			documentsInvalidKeys,
		},
		{
			"keys are opaque",
			"every valid key is a key of its own, whatever its characters mean elsewhere",
			documentsOpaqueKeys,
		},
		{
			"long keys are kept",
			"keys of up to MaxKeyLength bytes are taken, and two that differ in the last byte are two",
			documentsLongKeys,
		},
		{
			"a listing is in byte order",
			"List returns documents in ascending byte order of their keys, whatever the order of creation",
			documentsInOrder,
		},
		{
			"a listing keeps to its prefix",
			"List returns exactly the documents whose keys start with the prefix, the one that equals it included",
			documentsByPrefix,
		},
		{
			"a listing starts behind after",
			"List returns keys greater than after only, whether or not after is a key or has the prefix",
			documentsBehindAfter,
		},
		{
			"pages follow each other",
			"a page has as many documents as the limit unless it is the last, and pages join without gap or overlap",
			documentPages,
		},
		{
			"a limit of zero is the default page",
			"a limit of 0 or less means DefaultPage, and the pages of a large store join without gap or overlap",
			documentsDefaultPage,
		},
	}
}

func documentsInvalidKeys(ctx context.Context, docs storage.Documents) error {
	for _, key := range invalidKeys() {
		_, getErr := docs.Get(ctx, key)
		_, createErr := docs.Create(ctx, key, []byte(`1`))
		_, updateErr := docs.Update(ctx, key, 1, []byte(`1`))
		errs := map[string]error{"Get": getErr, "Create": createErr, "Update": updateErr, "Delete": docs.Delete(ctx, key, 1)}
		if key != "" {
			_, errs["List by prefix"] = docs.List(ctx, key, "", 0)
			_, errs["List after"] = docs.List(ctx, "", key, 0)
		}
		for call, err := range errs {
			if err := wantError(fmt.Sprintf("%s of the key %.40q", call, key), err, storage.ErrInvalidKey); err != nil {
				return err
			}
		}
	}
	return nil
}

func documentsOpaqueKeys(ctx context.Context, docs storage.Documents) error {
	revisions, err := createAll(ctx, docs, scattered(unlikelyKeys()))
	if err != nil {
		return err
	}
	for key, revision := range revisions {
		doc, err := docs.Get(ctx, key)
		if err != nil {
			return noError(fmt.Sprintf("Get of %q", key), err)
		}
		if err := sameDocument("Get", doc, storage.Document{Key: key, Revision: revision, Data: keyData(key)}); err != nil {
			return err
		}
	}
	for i, key := range unlikelyKeys() {
		if err := noError(fmt.Sprintf("Delete of %q", key), docs.Delete(ctx, key, revisions[key])); err != nil {
			return err
		}
		left, err := docs.List(ctx, "", "", 0)
		if err != nil {
			return noError("List", err)
		}
		if err := sameKeys(fmt.Sprintf("List after the Delete of %q", key), listKeys(left), unlikelyKeys()[i+1:]); err != nil {
			return err
		}
	}
	return nil
}

func documentsLongKeys(ctx context.Context, docs storage.Documents) error {
	longest, err := longestKey(func(key string) error {
		_, err := docs.Create(ctx, key, keyData("k"))
		return err
	})
	if err != nil {
		return err
	}
	sibling := longest[:len(longest)-1] + "j"
	if _, err := docs.Create(ctx, sibling, keyData("j")); err != nil {
		return noError("Create of a key that differs in the last byte", err)
	}
	page, err := docs.List(ctx, sibling[:len(sibling)-1], "", 0)
	if err != nil {
		return noError("List by a long prefix", err)
	}
	if err := sameKeys("List by a long prefix", listKeys(page), []string{sibling, longest}); err != nil {
		return err
	}
	page, err = docs.List(ctx, "", sibling, 0)
	if err != nil {
		return noError("List after a long key", err)
	}
	return sameKeys("List after a long key", listKeys(page), []string{longest})
}

func documentsInOrder(ctx context.Context, docs storage.Documents) error {
	if _, err := createAll(ctx, docs, scattered(unlikelyKeys())); err != nil {
		return err
	}
	page, err := docs.List(ctx, "", "", 0)
	if err != nil {
		return noError("List", err)
	}
	return sameKeys("List", listKeys(page), unlikelyKeys())
}

func documentsByPrefix(ctx context.Context, docs storage.Documents) error {
	if _, err := createAll(ctx, docs, unlikelyKeys()); err != nil {
		return err
	}
	for _, prefix := range prefixes() {
		page, err := docs.List(ctx, prefix, "", 0)
		if err != nil {
			return noError("List", err)
		}
		if err := sameKeys(fmt.Sprintf("List of the prefix %q", prefix), listKeys(page),
			startingWith(unlikelyKeys(), prefix, "")); err != nil {
			return err
		}
	}
	return nil
}

func documentsBehindAfter(ctx context.Context, docs storage.Documents) error {
	if _, err := createAll(ctx, docs, unlikelyKeys()); err != nil {
		return err
	}
	for _, prefix := range []string{"", "a", "a/", "\U0010ffff", "none"} {
		for _, after := range append(prefixes(), "a/a", "a/zz", "zz", "!") {
			page, err := docs.List(ctx, prefix, after, 0)
			if err != nil {
				return noError("List", err)
			}
			call := fmt.Sprintf("List of the prefix %q after %q", prefix, after)
			if err := sameKeys(call, listKeys(page), startingWith(unlikelyKeys(), prefix, after)); err != nil {
				return err
			}
		}
	}
	return nil
}

func documentPages(ctx context.Context, docs storage.Documents) error {
	keys := numbered(10)
	if _, err := createAll(ctx, docs, slices.Concat(scattered(keys), []string{"numbered", "numberee", "a"})); err != nil {
		return err
	}
	for limit := 1; limit <= len(keys)+1; limit++ {
		var all []string
		after := ""
		for {
			page, err := docs.List(ctx, "numbered/", after, limit)
			if err != nil {
				return noError("List", err)
			}
			if want := min(limit, len(keys)-len(all)); len(page) != want {
				return fmt.Errorf("the call List with the limit %d after %q gave %d documents, want %d", limit, after,
					len(page), want)
			}
			all = append(all, listKeys(page)...)
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].Key
		}
		if err := sameKeys(fmt.Sprintf("all pages of %d", limit), all, keys); err != nil {
			return err
		}
	}
	return nil
}

func documentsDefaultPage(ctx context.Context, docs storage.Documents) error {
	keys := numbered(manyDocuments)
	mixed := scattered(keys)
	const writers = 16
	err := together(writers, func(writer int) error {
		for i := writer; i < len(mixed); i += writers {
			if _, err := docs.Create(ctx, mixed[i], keyData(mixed[i])); err != nil {
				return noError("Create", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, limit := range []int{0, -1} {
		page, err := docs.List(ctx, "", "", limit)
		if err != nil {
			return noError("List", err)
		}
		if err := sameKeys(fmt.Sprintf("List with the limit %d", limit), listKeys(page),
			keys[:storage.DefaultPage]); err != nil {
			return err
		}
	}
	whole, err := docs.List(ctx, "", "", manyDocuments+1)
	if err != nil {
		return noError("List", err)
	}
	if err := sameKeys("List with a limit above the number of documents", listKeys(whole), keys); err != nil {
		return err
	}
	var all []string
	for doc, err := range storage.All(ctx, docs, "numbered/") {
		if err != nil {
			return noError("All", err)
		}
		if err := sameDocument("All", doc,
			storage.Document{Key: doc.Key, Revision: doc.Revision, Data: keyData(doc.Key)}); err != nil {
			return err
		}
		all = append(all, doc.Key)
	}
	return sameKeys("All", all, keys)
}

// createAll creates a document for each key and returns the revisions.
func createAll(ctx context.Context, docs storage.Documents, keys []string) (map[string]storage.Revision, error) {
	revisions := make(map[string]storage.Revision, len(keys))
	for _, key := range keys {
		revision, err := docs.Create(ctx, key, keyData(key))
		if err != nil {
			return nil, noError(fmt.Sprintf("Create of %q", key), err)
		}
		revisions[key] = revision
	}
	return revisions, nil
}

// keyData returns data that differs for each key.
func keyData(key string) []byte {
	data, err := json.Marshal(key)
	if err != nil {
		panic(errors.Join(errors.New("storagetest: a string has no JSON"), err))
	}
	return data
}

func listKeys(docs []storage.Document) []string {
	var keys []string
	for _, doc := range docs {
		keys = append(keys, doc.Key)
	}
	return keys
}
