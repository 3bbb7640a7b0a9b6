package outbound

import "strings"

// Name is a name of a host, or of all hosts below a domain.
type Name struct {
	name  string
	below bool
}

// ParseName returns the name that a text of the form HOST or *.DOMAIN means. It does not check
// the text.
func ParseName(text string) Name {
	name, below := strings.CutPrefix(Canonical(text), "*.")
	return Name{name, below}
}

// Matches reports whether a host has the name. A domain is not below itself.
func (n Name) Matches(host string) bool {
	host = Canonical(host)
	if n.below {
		return strings.HasSuffix(host, "."+n.name) && len(host) > len(n.name)+1
	}
	return host == n.name
}

// Canonical returns a host in small letters and without the dot at its end.
func Canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// IsNumber reports whether some resolvers take a canonical name for an address, such as
// 127.1, 2130706433 and 0x7f.1. An empty name, or one that ends in a dot, is a number, too.
func IsNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

// Bare returns a host without the brackets of an IPv6 address.
func Bare(host string) string {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1]
	}
	return host
}
