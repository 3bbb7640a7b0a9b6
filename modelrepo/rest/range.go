package rest

import (
	"math"
	"net/http"
	"strconv"
	"strings"
)

// withRanges returns the request with ranges that [http.ServeContent] treats as RFC 9110 says. A
// range of another unit than bytes is ignored (section 14.2), and a suffix of 0 bytes is not
// satisfiable (section 14.1.2).
func withRanges(req *http.Request) *http.Request {
	given := req.Header.Get("Range")
	if given == "" {
		return req
	}
	unit, set, _ := strings.Cut(given, "=")
	changed := ""
	if strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		ranges := strings.Split(set, ",")
		for i, one := range ranges {
			length, isSuffix := strings.CutPrefix(strings.TrimSpace(one), "-")
			if isSuffix && length != "" && strings.Trim(length, "0") == "" {
				ranges[i] = strconv.Itoa(math.MaxInt) + "-" // from behind the end
			}
		}
		changed = "bytes=" + strings.Join(ranges, ",")
	}
	if changed == given {
		return req
	}
	made := *req
	made.Header = req.Header.Clone()
	if made.Header.Set("Range", changed); changed == "" {
		made.Header.Del("Range")
	}
	return &made
}
