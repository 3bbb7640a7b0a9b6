package portal

import (
	"net/http"
	"strings"
)

// AllowPortal has a gateway answer pages of the portal, which is at other origins
// (Fetch standard, section 3.2): preflights are answered here, and responses say
// that the portal may read them. Requests of pages elsewhere are the gateway's
// affair, and of the services behind it.
//
// The services see no Origin and no Sec-Fetch-Site header field of the portal's
// requests, because the portal is trusted: those that refuse pages of other
// origins, as the other servers of this module do, would refuse it as well.
//
// Cookies of the portal and of the gateway's administration page are taken out of
// every request, because browsers send cookies to all ports of a host. So are those
// whose names begin with one of cookies. addresses are those at which browsers reach the
// portal: [Config.URL], and others where a program serves it there too.
func AllowPortal(gateway http.Handler, addresses []string, cookies ...string) http.Handler {
	portals := map[string]bool{}
	for _, address := range addresses {
		if at, ok := origin(address); ok {
			portals[at] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dropCookies(r, cookies)
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

// dropCookies takes the cookies out of a request that isOurs names. A request without
// them stays as it is.
func dropCookies(r *http.Request, prefixes []string) {
	var kept []string
	found := false
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			pair = strings.TrimSpace(pair)
			name, _, _ := strings.Cut(pair, "=")
			if isOurs(strings.TrimSpace(name), prefixes) {
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
