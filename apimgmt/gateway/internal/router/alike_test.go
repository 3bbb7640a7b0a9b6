package router_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

// alike are routes of one path that differ by a header field only.
func alike(n int) []entity.Route {
	routes := make([]entity.Route, n)
	for i := range routes {
		routes[i] = entity.Route{
			Meta: entity.Meta{ID: fmt.Sprintf("%06d", i)}, Paths: []string{"/api"},
			Headers: map[string][]string{"X-Tenant": {fmt.Sprintf("Tenant-%d", i), fmt.Sprintf("t%d", i)}},
		}
	}
	return routes
}

func TestRouter_Find_indexesRoutesByHeader(t *testing.T) {
	routes := alike(500)
	routes = append(routes,
		entity.Route{Meta: entity.Meta{ID: "plain"}, Paths: []string{"/api"}},
		entity.Route{Meta: entity.Meta{ID: "both"}, Paths: []string{"/api"}, Headers: map[string][]string{"X-Tenant": {"t7"}, "X-Beta": {"yes"}}},
		entity.Route{Meta: entity.Meta{ID: "expression"}, Paths: []string{"/api"},
			Headers: map[string][]string{"X-Tenant": {"~*^guest-[0-9]+$"}}},
		entity.Route{Meta: entity.Meta{ID: "umlaut"}, Paths: []string{"/api"}, Headers: map[string][]string{"X-Tenant": {"J\u00dcRGEN"}}})
	r, err := router.New(routes)
	require.NoError(t, err)
	for _, c := range []struct {
		header map[string][]string
		want   string
	}{
		{nil, "plain"}, {map[string][]string{"X-Tenant": {"unknown"}}, "plain"}, {map[string][]string{"X-Tenant": {"TENANT-499"}}, "000499"},
		{map[string][]string{"X-Tenant": {"unknown", "t3"}}, "000003"}, {map[string][]string{"X-Tenant": {"t7"}}, "000007"},
		{map[string][]string{"X-Tenant": {"T7"}, "X-Beta": {"Yes"}}, "both"},
		{map[string][]string{"X-Tenant": {"t7"}, "X-Beta": {"no"}}, "000007"},
		{map[string][]string{"X-Tenant": {"Guest-12"}}, "expression"}, {map[string][]string{"X-Tenant": {"j\u00fcrgen"}}, "umlaut"},
	} {
		match, found := r.Find(&router.Request{Method: "GET", Path: "/api/x", Header: c.header})
		require.True(t, found)
		require.Equal(t, c.want, routes[match.Route].ID, c.header)
	}
}

func BenchmarkRoutesThatDifferByHeader(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		r, err := router.New(alike(n))
		require.NoError(b, err)
		for name, value := range map[string]string{"last": fmt.Sprintf("tenant-%d", n-1), "none": "unknown"} {
			request := &router.Request{Method: "GET", Path: "/api/x", Host: "a", Header: map[string][]string{"X-Tenant": {value}}}
			b.Run(fmt.Sprint(n, "/", name), func(b *testing.B) {
				for b.Loop() {
					r.Find(request)
				}
			})
		}
	}
}
