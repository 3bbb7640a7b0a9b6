package portal

import (
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/cookies"
)

// AllowPortal has a gateway answer pages of the portal, which is at other origins
// (Fetch standard, section 3.2): preflights are answered here, and responses allow the
// portal to read them. Requests of other pages are left to the gateway and to the services
// behind it.
//
// The header fields Origin and Sec-Fetch-Site are removed from the portal's requests,
// because the portal is trusted: services that refuse pages of other origins, as the other
// servers of this module do, would refuse it as well.
//
// Browsers send cookies to all ports of a host. The cookie of the gateway's administration
// page, and those whose names have one of the prefixes, are removed from every request.
// addresses are those at which browsers reach the portal: [Config.URL], and others at which
// a program serves it.
func AllowPortal(gateway http.Handler, addresses []string, prefixes ...string) http.Handler {
	portals := map[string]bool{}
	for _, address := range addresses {
		if at, ok := origin(address); ok {
			portals[at] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dropCookies(r, prefixes)
		portal := r.Header.Get("Origin")
		if len(r.Header.Values("Origin")) != 1 || !portals[portal] {
			gateway.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", portal)
			h.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
			if fields := r.Header.Get("Access-Control-Request-Headers"); fields != "" {
				h.Set("Access-Control-Allow-Headers", fields)
			}
			h.Set("Access-Control-Max-Age", "60")
			h.Add("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r.Header.Del("Origin")
		r.Header.Del("Sec-Fetch-Site")
		gateway.ServeHTTP(&readable{ResponseWriter: w, portal: portal}, r)
	})
}

// dropCookies removes the cookies that isInternal reports. A request without them is left
// unchanged.
func dropCookies(r *http.Request, prefixes []string) {
	var kept []string
	found := false
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			pair = strings.TrimSpace(pair)
			name, _, _ := strings.Cut(pair, "=")
			if isInternal(strings.TrimSpace(name), prefixes) {
				found = true
			} else {
				kept = append(kept, pair)
			}
		}
	}
	if !found {
		return
	}
	r.Header.Del("Cookie")
	if len(kept) > 0 {
		r.Header.Set("Cookie", strings.Join(kept, "; "))
	}
}

// isInternal reports whether a cookie of that name is that of the gateway's administration
// page, or the name has one of the prefixes.
func isInternal(name string, prefixes []string) bool {
	name = strings.TrimPrefix(name, "__Host-")
	return name == cookies.Admin ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// readable is a response that the portal may read.
type readable struct {
	http.ResponseWriter
	portal string
	begun  bool
}

// WriteHeader implements http.ResponseWriter.
func (w *readable) WriteHeader(status int) {
	if !w.begun && status >= 200 {
		w.begun = true
		h := w.Header()
		for name := range h {
			if strings.HasPrefix(name, "Access-Control-") {
				delete(h, name)
			}
		}
		h.Set("Access-Control-Allow-Origin", w.portal)
		h.Set("Access-Control-Expose-Headers", "*")
		h.Add("Vary", "Origin")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *readable) Write(data []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (w *readable) Unwrap() http.ResponseWriter { return w.ResponseWriter }
