package rdf

// readAtDirective reads @prefix or @base with the point that ends it.
func (r *Reader) readAtDirective() error {
	tag, err := r.langTag()
	if err != nil {
		return r.fail(0, "\"@\" that starts no directive")
	}
	switch string(tag) {
	case "prefix":
		err = r.readPrefix()
	case "base":
		err = r.readBase()
	default:
		return r.fail(-len(tag)-1, "unknown directive @%s", shorten(tag))
	}
	if err != nil {
		return err
	}
	if r.skip(); r.at(0) != '.' {
		return r.unexpected("\".\"")
	}
	r.pos++
	return nil
}

// readPrefix reads what follows @prefix or PREFIX.
func (r *Reader) readPrefix() error {
	r.skip()
	n := 0
	if r.startsName(0) {
		n = r.nameEnd(0, false)
	}
	if r.at(n) != ':' {
		return r.unexpected("a prefix and \":\"")
	}
	prefix := string(r.buf[r.pos : r.pos+n])
	r.pos += n + 1
	r.skip()
	iri, err := r.resolvedIRI()
	if err != nil {
		return err
	}
	if _, again := r.declared[prefix]; !again {
		r.prefixes = append(r.prefixes, Prefix{Name: prefix})
	}
	r.declared[prefix] = iri
	return nil
}

// readBase reads what follows @base or BASE.
func (r *Reader) readBase() error {
	r.skip()
	iri, err := r.resolvedIRI()
	if err == nil {
		r.setBase(iri)
	}
	return err
}
