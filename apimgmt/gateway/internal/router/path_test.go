package router_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

func TestNormalize_resolvesPaths(t *testing.T) {
	for path, want := range map[string]string{
		"": "/", "/": "/", "//": "/", "/a": "/a", "/a/": "/a/", "/a//b": "/a/b", "///a": "/a",
		"/a/./b": "/a/b", "/a/../b": "/b", "/../a": "/a", "/a/..": "/", "/a/b/..": "/a/", "/a/.": "/a/", "/.": "/", "/..": "/",
		"/a/%2e%2e/b": "/b", "/a/.%2E/b": "/b", "/%61": "/a", "/%7euser": "/~user", "/a%2fb": "/a%2Fb", "/a%2F..%2fb": "/a%2F..%2Fb",
		"/a%2f%2e%2e": "/a%2F..", "/%20": "/ ", "/%3f": "/%3F", "/%25%32%65": "/%252e", "/%zz": "/%25zz", "/%": "/%25", "/%%341": "/%2541",
		"/a/...": "/a/...", "/.a/..b": "/.a/..b", "/%c3%a9": "/é", "a/b": "/a/b", "/%5c..%5c": `/\..\`,
	} {
		require.Equal(t, want, router.Normalize(path), path)
	}
}

func TestNormalize_doesNotCopyNormalPaths(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(10, func() { router.Escape(router.Normalize("/a/b.c/d-e_f~g")) }))
}

func FuzzNormalizedPathsHaveNoWayAround(f *testing.F) {
	for _, s := range []string{"/a/../b", "/%2e%2e//%2f", "//..%2f./", "/%%3235", "/a/%2E/", "/..;/a", "/\x00%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		normal := router.Normalize(path)
		require.True(t, strings.HasPrefix(normal, "/"))
		require.Equal(t, normal, router.Normalize(normal), path)
		require.NotContains(t, normal, "//")
		for segment := range strings.SplitSeq(normal, "/") {
			require.NotContains(t, []string{".", ".."}, segment, path)
		}
		escaped := router.Escape(normal)
		if !strings.ContainsAny(path, "?#") {
			require.Equal(t, normal, router.Normalize(escaped), path)
		}
		u, err := url.ParseRequestURI(escaped)
		require.NoError(t, err, path)
		require.Empty(t, u.RawQuery)
		require.Equal(t, escaped, u.EscapedPath(), path)
		// What a service makes of the path, decoding it once, has no way up.
		if !strings.Contains(normal, "%2F") {
			for segment := range strings.SplitSeq(u.Path, "/") {
				require.NotContains(t, []string{".", ".."}, segment, path)
			}
		}
	})
}
