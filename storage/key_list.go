package storage

import "slices"

// keyList is a set of keys in ascending byte order.
type keyList []string

// insert adds a key unless it is in the set.
func (l *keyList) insert(key string) {
	if at, found := slices.BinarySearch(*l, key); !found {
		*l = slices.Insert(*l, at, key)
	}
}

// remove removes a key if it is in the set.
func (l *keyList) remove(key string) {
	if at, found := slices.BinarySearch(*l, key); found {
		*l = slices.Delete(*l, at, at+1)
	}
}

// from returns the keys from prefix on, or the keys after the given one if that
// is later. The result is a view: it is valid until the next insert or remove.
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
