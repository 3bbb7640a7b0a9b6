package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckRoutes compares a route table with an OpenAPI document, in both
// directions, and returns an error that lists every operation which is in only
// one of them. Names of path parameters count: they are documentation.
func CheckRoutes(routes []Route, openapi []byte) error {
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(openapi, &document); err != nil {
		return fmt.Errorf("read OpenAPI document: %w", err)
	}
	documented := map[string]bool{}
	methods := []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}
	for path, item := range document.Paths {
		for method := range item {
			if slices.Contains(methods, method) {
				documented[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	var faults []string
	for _, route := range routes {
		pattern := strings.TrimSuffix(route.Pattern, "{$}")
		pattern = strings.Replace(pattern, "...}", "}", 1) // OpenAPI has no name for the rest of a path
		switch {
		case documented[pattern] && route.Undocumented:
			faults = append(faults, fmt.Sprintf("%q is documented and marked Undocumented", pattern))
		case !documented[pattern] && !route.Undocumented:
			faults = append(faults, fmt.Sprintf("%q is served and not documented", pattern))
		}
		delete(documented, pattern)
	}
	for pattern := range documented {
		faults = append(faults, fmt.Sprintf("%q is documented and not served", pattern))
	}
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return errors.New("routes and OpenAPI document differ:\n" + strings.Join(faults, "\n"))
}
