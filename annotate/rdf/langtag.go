package rdf

import "strings"

// ValidLangTag reports whether tag is a well-formed language tag of BCP 47 (RFC
// 5646 section 2.1), in any letter case. A primary language of more than three
// letters is refused although the grammar reserves room for it: none has ever
// been registered, so it is a mistake such as "english". Subtags are not looked
// up in the registry.
func ValidLangTag(tag []byte) bool {
	s := subtags{rest: tag}
	s.next()
	if s.single('x') {
		return s.privateUse()
	}
	if n := len(s.tag); n < 2 || n > 3 || !s.all(alpha) {
		return irregular(tag)
	}
	s.next()
	for extlang := 0; extlang < 3 && len(s.tag) == 3 && s.all(alpha); extlang++ {
		s.next()
	}
	if len(s.tag) == 4 && s.all(alpha) {
		s.next()
	}
	if (len(s.tag) == 2 && s.all(alpha)) || (len(s.tag) == 3 && s.all(digit)) {
		s.next()
	}
	for n := len(s.tag); ((n >= 5 && n <= 8) || (n == 4 && is(s.tag[0], digit))) && s.all(alpha|digit); n = len(s.tag) {
		s.next()
	}
	for len(s.tag) == 1 && s.all(alpha|digit) && !s.single('x') {
		s.next()
		parts := 0
		for ; len(s.tag) >= 2 && len(s.tag) <= 8 && s.all(alpha|digit); parts++ {
			s.next()
		}
		if parts == 0 {
			return false
		}
	}
	if s.single('x') {
		return s.privateUse()
	}
	return s.ended || irregular(tag)
}

// irregular reports whether tag is one of the grandfathered tags that the
// grammar does not cover.
func irregular(tag []byte) bool {
	switch strings.ToLower(string(tag)) {
	case "en-gb-oed", "i-ami", "i-bnn", "i-default", "i-enochian", "i-hak", "i-klingon", "i-lux", "i-mingo",
		"i-navajo", "i-pwn", "i-tao", "i-tay", "i-tsu", "sgn-be-fr", "sgn-be-nl", "sgn-ch-de":
		return true
	}
	return false
}

// subtags walks the parts of a language tag. After the last one tag is empty and
// ended is true; an empty part in the middle leaves ended false.
type subtags struct {
	tag, rest []byte
	last      bool
	ended     bool
}

func (s *subtags) next() {
	if s.last {
		s.tag, s.ended = nil, true
		return
	}
	for i, c := range s.rest {
		if c == '-' {
			s.tag, s.rest = s.rest[:i], s.rest[i+1:]
			return
		}
	}
	s.tag, s.rest, s.last = s.rest, nil, true
}

func (s *subtags) all(k class) bool {
	for _, c := range s.tag {
		if !is(c, k) {
			return false
		}
	}
	return len(s.tag) > 0
}

func (s *subtags) single(letter byte) bool { return len(s.tag) == 1 && s.tag[0]|0x20 == letter }

// privateUse checks everything that follows a subtag "x".
func (s *subtags) privateUse() bool {
	s.next()
	parts := 0
	for ; len(s.tag) <= 8 && s.all(alpha|digit); parts++ {
		s.next()
	}
	return parts > 0 && s.ended
}
