package plugin

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

func FuzzConfigs(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"discovery":"https://idm.example/d","bearer_only":"yes","filters":"/a,^/b$","timeout":"5"}`,
		`{"name":"oidc","config":{"discovery":"http://x/y"}}`,
		`{"client_id":"kong","issuer":"https://x","session_secret":"0123456789abcdef 0123456789abcdef"}`,
		`{"minute":5,"hour":6,"limit_by":"path","path":"/"}`,
		`{"allow":["::ffff:1.2.3.4/120","10.0.0.0/8"]}`, `{"at":"2026-01-01","sunset":"2027-01-01T00:00:00Z","link":"https://a"}`,
		`{"definition":{"parameters":[{"name":"a","in":"path","required":true,"schema":{"type":"string"}}],` +
			`"requestBody":{"content":{"a/b":{}}}}}`,
		`{"body_schema":"{\"type\":[\"object\"]}","version":"draft4"}`, `{"key_names":["a-b"],"anonymous":"x"}`,
	} {
		f.Add(seed)
	}
	client := &http.Client{}
	f.Fuzz(func(t *testing.T, config string) {
		for _, kind := range Kinds() {
			made, err := kind.Compile(gateway.Setup{ID: "x", Config: json.RawMessage(config), Logger: slog.New(slog.DiscardHandler), Client: client})
			if err != nil {
				require.True(t, strings.HasPrefix(err.Error(), "config"), "%s: the error %q names no field", kind.Name, err)
				continue
			}
			if made.Close != nil {
				require.NoError(t, made.Close())
			}
		}
	})
}

func FuzzFilter(f *testing.F) {
	f.Add("/public,/img/.*[.]png", "/public/../secret")
	f.Add("/", "/a;b/..")
	f.Add("^/a|/b$", "/a\n/b")
	plain := regexp.MustCompile(`\A(/[A-Za-z0-9._~!$&'()*+,=:@"<>^` + "`" + `{|}\[\]-]*)+\z`)
	f.Fuzz(func(t *testing.T, list, path string) {
		skip, err := parseFilter(list)
		if err != nil || !skip.skips(path) {
			return
		}
		require.Regexp(t, plain, path)
		require.NotContains(t, path, "//")
		for segment := range strings.SplitSeq(path, "/") {
			require.NotContains(t, []string{".", ".."}, segment)
		}
	})
}

func FuzzIdentityFields(f *testing.F) {
	for _, seed := range []string{"X-Userinfo", "x_userinfo", "X.Access~Token", "X-Consumer-", "X-Credential-Identifier",
		"Xuserinfo", "X--Userinfo", "X-Userinformation"} {
		f.Add(seed)
	}
	other := regexp.MustCompile(`[^a-z0-9]`)
	f.Fuzz(func(t *testing.T, name string) {
		variable := other.ReplaceAllString(strings.Map(func(r rune) rune { // as a server would make a variable of it
			if r >= 'A' && r <= 'Z' {
				r |= 0x20
			}
			return r
		}, strings.ToValidUTF8(name, "?")), "_")
		want := false
		switch variable {
		case "x_userinfo", "x_access_token", "x_id_token", "x_anonymous_consumer":
			want = true
		}
		for _, prefix := range []string{"x_consumer_", "x_credential_", "x_authenticated_"} {
			want = want || strings.HasPrefix(variable, prefix)
		}
		if want {
			require.True(t, claimsIdentity(name) || len(name) != len(variable), name) // names of fields are in ASCII
		} else {
			require.False(t, claimsIdentity(name) && len(name) == len(variable), name)
		}
	})
}

func FuzzSealed(f *testing.F) {
	seal, err := newSealer(rand.Text(), "test")
	require.NoError(f, err)
	good, err := seal.seal("session a", session{Access: "a"})
	require.NoError(f, err)
	f.Add("", uint(0), "A")
	f.Add(good, uint(40), "__")
	f.Fuzz(func(t *testing.T, text string, at uint, change string) {
		var s session
		require.False(t, text != good && seal.open("session a", text, &s), "no other party can make one")
		require.True(t, seal.open("session a", good, &s))
		require.False(t, seal.open("session b", good, &s), "it is sealed for one place")
		at %= uint(len(good))
		changed := good[:at] + change + good[min(len(good), int(at)+len(change)):]
		require.False(t, strings.TrimRight(changed, "\r\n") != good && !strings.ContainsAny(change, "\r\n") &&
			seal.open("session a", changed, &s), "nor change one")
	})
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `[1,2,{"a":[]}]`, `"x"`, `1e400`, `{"a":1,"a":2}`, ` {} x`, `{"a":"\ud800"}`, "[[[[", "a: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		value, err := parseBody([]byte(body))
		if err != nil {
			require.IsType(t, &invalid{}, err)
			return
		}
		require.True(t, json.Valid([]byte(body)))
		_, err = json.Marshal(value)
		require.NoError(t, err)
	})
}
