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
//
// Every operation has to say with "x-role" which role its route requires, and by its
// security, or that of the document, how a caller proves it: a public one has an empty
// list, and every other one a scheme.
func CheckRoutes(routes []Route, openapi []byte) error {
	var document struct {
		Paths    map[string]map[string]json.RawMessage `json:"paths"`
		Security []json.RawMessage                     `json:"security"`
	}
	if err := json.Unmarshal(openapi, &document); err != nil {
		return fmt.Errorf("read OpenAPI document: %w", err)
	}
	documented := map[string]bool{}
	declared := map[string]declaration{}
	methods := []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}
	for path, item := range document.Paths {
		for method, operation := range item {
			if slices.Contains(methods, method) {
				pattern := strings.ToUpper(method) + " " + path
				documented[pattern] = true
				d := declaration{Security: document.Security}
				if err := json.Unmarshal(operation, &d); err != nil {
					return fmt.Errorf("read OpenAPI document: %s: %w", pattern, err)
				}
				declared[pattern] = d
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
		case documented[pattern]:
			if fault := declared[pattern].fault(route); fault != "" {
				faults = append(faults, fmt.Sprintf("%q %s", pattern, fault))
			}
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

// declaration is what an operation of an OpenAPI document says of its callers.
type declaration struct {
	Role     Role              `json:"x-role"`
	Security []json.RawMessage `json:"security"`
}

// fault returns what the declaration gets wrong, empty for nothing.
func (d declaration) fault(route Route) string {
	method, _, _ := strings.Cut(route.Pattern, " ")
	switch role := route.role(method); {
	case d.Role != role:
		return fmt.Sprintf("requires the role %q, and x-role says %q", role, d.Role)
	case role == Public && len(d.Security) > 0:
		return "is public, and has a security scheme; it needs an empty list"
	case role != Public && len(d.Security) == 0:
		return fmt.Sprintf("requires the role %q, and has no security scheme", role)
	}
	return ""
}
