package storage

import "slices"

// keyList is a set of keys in ascending byte order.
type keyList []string

// insert adds a key; one that is there already is left alone.
func (l *keyList) insert(key string) {
	if at, found := slices.BinarySearch(*l, key); !found {
		*l = slices.Insert(*l, at, key)
	}
}

// remove takes a key out; one that is not there is ignored.
func (l *keyList) remove(key string) {
	if at, found := slices.BinarySearch(*l, key); found {
		*l = slices.Delete(*l, at, at+1)
	}
}

// from returns the keys beginning at prefix, or behind after if that is later.
// The result is a view: it is valid until the next insert or remove.
func (l keyList) from(prefix, after string) []string {
	at, _ := slices.BinarySearch(l, prefix)
	if after >= prefix && after != "" {
		var found bool
		if at, found = slices.BinarySearch(l, after); found {
			at++
		}
	}
	return l[at:]
}
