package storagetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// wrapperRoom is by how much a wrapper may shorten the longest key.
const wrapperRoom = 128

// invalidKeys returns keys that every method refuses.
func invalidKeys() []string {
	return []string{
		"",
		"nul\x00",
		"line\nbreak",
		"\x7f",
		"next line \u0085",
		"not UTF-8 \xff",
		"half a character \xe2\x82",
		strings.Repeat("k", storage.MaxKeyLength+1),
	}
}

// unlikelyKeys returns valid keys that are all different, in ascending byte
// order. Each is one that some engine, file system or URL would treat
// specially, or order differently.
func unlikelyKeys() []string {
	keys := []string{
		"a", "a/", "a/b", "a//b", "a/b/", "/", "//", "/a", ".", "..", "../a", "a/../b", "a.", "a.tmp", "a~",
		" ", " a", "a ", "a b", "%2F", "%", "%61", "a%2Fb", "+", "?", "a?b=c", "#", "&", "*", "a*", "a.*", "^a", "$", "_id",
		"\\", "a\\b", ":", "C:", "CON", "NUL", "\"", "'", "`", "{", "}", "[", "]", "(", "|", "<", ">", ";", ",", "=", "@",
		"A", "B", "b", "aB", "ab", "Ab", "0", "10", "2", "a0", "a/0", "a/10", "a/2", "store.db", "blobs",
		"\u00e9", "e\u0301", "\u00df", "ss", "\u0131", "\u200b", "\u202e", "\u2028", "\ufeff", "\ufffd", "\uff5e",
		"\U0001f600", "\U0010ffff", "\U0010ffff\U0010ffff", "a\U0010ffff",
		strings.Repeat("long/", 40), strings.Repeat("l", 300), strings.Repeat("\u20ac", 100),
	}
	slices.Sort(keys)
	return keys
}

// prefixes returns prefixes to list, of the unlikely keys and of none.
func prefixes() []string {
	return []string{
		"", "a", "a/", "a/b", "a//", "/", ".", "..", "%", "a%", "a.", "^", "_", "[", "*", "\\", "\U0010ffff", "a\U0010ffff",
		"\u00e9", "e", "\ufffd", strings.Repeat("long/", 40), "longer", "zzz", "a/b/c", "\U0010ffff\U0010ffff\U0010ffff",
	}
}

// startingWith returns the keys with the prefix that are greater than after.
func startingWith(keys []string, prefix, after string) []string {
	var found []string
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) && key > after {
			found = append(found, key)
		}
	}
	return found
}

// sameKeys returns an error unless the keys are the wanted ones in order.
func sameKeys(call string, got, want []string) error {
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("%s gave the keys %.300q, want %.300q", call, got, want)
}

// numbered returns n keys in ascending byte order.
func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("numbered/%06d", i)
	}
	return keys
}

// scattered returns the keys in another order, always the same.
func scattered(keys []string) []string {
	mixed := slices.Clone(keys)
	for i := range mixed {
		j := (i * 7919) % len(mixed)
		mixed[i], mixed[j] = mixed[j], mixed[i]
	}
	return mixed
}

// longestKey calls store with keys of falling length until one is accepted, and
// returns that key. Each refusal must be ErrInvalidKey.
func longestKey(store func(key string) error) (string, error) {
	for length := storage.MaxKeyLength; length >= storage.MaxKeyLength-wrapperRoom; length-- {
		key := strings.Repeat("k", length)
		err := store(key)
		if err == nil {
			return key, nil
		}
		if err := wantError(fmt.Sprintf("storing under a key of %d bytes", length), err, storage.ErrInvalidKey); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("no key of %d to %d bytes was taken", storage.MaxKeyLength-wrapperRoom, storage.MaxKeyLength)
}
