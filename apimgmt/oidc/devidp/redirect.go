package devidp

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// patterns are the addresses where a login, and a logout, may go back to.
func (c Client) patterns() []string {
	patterns := slices.Clone(c.Redirects)
	if c.BaseURL != "" {
		patterns = append(patterns, strings.TrimRight(c.BaseURL, "/")+"/*")
	}
	return patterns
}

// origins are those of pages that may request tokens.
func (c Client) origins() []string {
	var origins []string
	for _, pattern := range c.patterns() {
		if address, err := url.Parse(pattern); err == nil {
			origins = append(origins, address.Scheme+"://"+address.Host)
		}
	}
	return origins
}

// checkPattern refuses patterns that would match more than one host.
func checkPattern(pattern string) error {
	exact, _ := strings.CutSuffix(pattern, "/*")
	address, err := url.Parse(exact)
	switch {
	case err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" ||
		address.User != nil || address.Fragment != "":
		return errors.New("expected http://HOST/PATH or https://HOST/PATH")
	case strings.Contains(exact, "*"):
		return errors.New(`a "*" may only stand at the end, after a slash`)
	}
	return nil
}

// returns reports whether a login of the client may go back to the address. An
// exact pattern is compared as a string (RFC 9700 section 4.1.3); one that ends in
// "/*" must agree in scheme and host, and its path must be a beginning of the
// address's, which then must not lead up again.
func (c Client) returns(address string) bool {
	if len(address) > 2000 || strings.ContainsAny(address, "\\ \t\r\n\"<>") {
		return false
	}
	asked, err := url.Parse(address)
	if err != nil || asked.Host == "" || asked.User != nil || strings.Contains(address, "#") {
		return false
	}
	for _, pattern := range c.patterns() {
		below, wild := strings.CutSuffix(pattern, "/*")
		if !wild {
			if address == pattern {
				return true
			}
			continue
		}
		known, err := url.Parse(below)
		if err == nil && asked.Scheme == known.Scheme && asked.Host == known.Host && straight(asked) &&
			(asked.Path == known.Path || strings.HasPrefix(asked.Path, known.Path+"/")) {
			return true
		}
	}
	return false
}

// straight reports whether a path has one meaning: no steps up, and
// nothing that decoding a second time would change.
func straight(address *url.URL) bool {
	if strings.ContainsAny(address.Path, "\\%;") {
		return false
	}
	for segment := range strings.SplitSeq(address.Path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}
