package devidp_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// overStores runs a test over stores that several instances share: connect returns the
// connection of one more of them.
func overStores(t *testing.T, test func(t *testing.T, connect func() storage.Documents)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		test(t, func() storage.Documents { return docs })
	})
	t.Run("mongo", func(t *testing.T) {
		server := mongotest.Start(t)
		database := server.Database(t)
		test(t, func() storage.Documents {
			return storage.Prefixed(server.OpenDatabase(t, database).Documents(), "idp/")
		})
	})
}

// openAll opens instances at once, with passwords and secrets that they generate.
func openAll(t *testing.T, n int, connect func() storage.Documents, change ...func(*devidp.Config)) []*devidp.Provider {
	t.Helper()
	all := make([]*devidp.Provider, n)
	errs := make([]error, n)
	var opening sync.WaitGroup
	for i := range all {
		c := devidp.Config{BaseURL: base, Realm: devidp.Demo(portal, portal), Documents: connect(), TokensPerSecond: -1}
		for _, f := range change {
			f(&c)
		}
		opening.Go(func() { all[i], errs[i] = devidp.Open(t.Context(), c) })
	}
	opening.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return all
}

func TestOpen_atOnceAgreesOnKeysUsersAndSecrets(t *testing.T) {
	overStores(t, func(t *testing.T, connect func() storage.Documents) {
		all := openAll(t, 3, connect)
		generated := map[string]string{}
		for _, p := range all {
			for user, made := range p.Issued().Passwords {
				require.NotContains(t, generated, user, "a password was generated twice")
				generated[user] = made
			}
		}
		require.Len(t, generated, 4)
		keys := publishedKeys(t, all[0])
		for _, p := range all {
			require.Equal(t, all[0].ClientSecret("kong"), p.ClientSecret("kong"))
			require.Equal(t, keys, publishedKeys(t, p))
		}
		for i, p := range all {
			got := login(p, "demouser", generated["demouser"], "10.0.0.1")
			require.Equal(t, http.StatusOK, got.Code, got.Body)
			token := answerFields(t, got)["access_token"].(string)
			for _, at := range all {
				require.Equal(t, true, activeAt(t, at, token), i)
			}
		}
	})
}

func publishedKeys(t *testing.T, p *devidp.Provider) []any {
	t.Helper()
	browser := &surf{p, map[string]string{}}
	return answerFields(t, browser.do(t, http.MethodGet, "protocol/openid-connect/certs", nil))["keys"].([]any)
}

func activeAt(t *testing.T, p *devidp.Provider, token string) any {
	t.Helper()
	answer := post(p, "token/introspect", "10.0.0.1", "client_id", "kong", "client_secret", p.ClientSecret("kong"), "token", token)
	return answerFields(t, answer)["active"]
}

// known gives all instances the passwords and secrets that tests know.
func known(c *devidp.Config) { c.Realm = small() }

func TestProvider_login_goesOnAtAnotherInstance(t *testing.T) {
	overStores(t, func(t *testing.T, connect func() storage.Documents) {
		all := openAll(t, 2, connect, known)
		shown := &surf{all[0], map[string]string{}}
		page := shown.do(t, http.MethodGet, authorization("public-frontend"), nil)
		sent := &surf{all[1], shown.cookies}
		back := sent.do(t, http.MethodPost, "login-actions/authenticate",
			url.Values{"request": {pageSeal(t, page)}, "username": {"demouser"}, "password": {password}})
		where, err := url.Parse(back.Header().Get("Location"))
		require.NoError(t, err)
		code := where.Query().Get("code")
		require.NotEmpty(t, code, back.Body.String())

		got := exchange(all[0], "public-frontend", code, verifier, portal+"/cb")
		require.Equal(t, http.StatusOK, got.Code, got.Body)
		token := answerFields(t, got)["access_token"].(string)
		require.Equal(t, true, activeAt(t, all[1], token))
		require.Equal(t, http.StatusSeeOther, shown.do(t, http.MethodGet, authorization("public-frontend"), nil).Code, "it is signed in at both")

		again := exchange(all[1], "public-frontend", code, verifier, portal+"/cb")
		require.Equal(t, "Code not valid", answerFields(t, again)["error_description"])
		require.Equal(t, false, activeAt(t, all[0], token), "a code that comes twice ends the session, wherever it comes")
	})
}

func TestProvider_token_takesACodeAtOneInstanceOnly(t *testing.T) {
	overStores(t, func(t *testing.T, connect func() storage.Documents) {
		all := openAll(t, 3, connect, known)
		browser := &surf{all[0], map[string]string{}}
		for round := range 5 {
			code := browser.code(t, "public-frontend", "demouser")
			status := make([]int, len(all))
			var asking sync.WaitGroup
			for i, p := range all {
				asking.Go(func() { status[i] = exchange(p, "public-frontend", code, verifier, portal+"/cb").Code })
			}
			asking.Wait()
			good := 0
			for _, one := range status {
				if one == http.StatusOK {
					good++
				}
			}
			require.LessOrEqual(t, good, 1, "%v", status)
			code = browser.code(t, "public-frontend", "demouser")
			require.Equal(t, http.StatusOK, exchange(all[round%3], "public-frontend", code, verifier, portal+"/cb").Code,
				"alone it is taken at any instance")
		}
	})
}

func TestProvider_RotateKeys_isNoticedByOtherInstances(t *testing.T) {
	overStores(t, func(t *testing.T, connect func() storage.Documents) {
		all := openAll(t, 3, connect, known)
		var rotating sync.WaitGroup
		for _, p := range all[:2] {
			rotating.Go(func() { require.NoError(t, p.RotateKeys(t.Context())) })
		}
		rotating.Wait()
		fresh := answerFields(t, login(all[0], "demouser", password, "10.0.0.1"))["access_token"].(string)
		require.Equal(t, true, activeAt(t, all[2], fresh), "signed by a key that the instance has not read")
		require.Len(t, publishedKeys(t, all[2]), 3)
		require.Equal(t, publishedKeys(t, all[0]), publishedKeys(t, all[2]))
	})
}

func TestProvider_certs_areReadAnew(t *testing.T) {
	all := openAll(t, 2, func() func() storage.Documents {
		docs := storage.NewMemoryDocuments()
		return func() storage.Documents { return docs }
	}(), known)
	require.NoError(t, all[0].RotateKeys(t.Context()))
	require.Equal(t, publishedKeys(t, all[0]), publishedKeys(t, all[1]))
}

func TestProvider_countsWrongPasswordsAtAllInstances(t *testing.T) {
	overStores(t, func(t *testing.T, connect func() storage.Documents) {
		all := openAll(t, 2, connect, known)
		for round := 0; ; round++ {
			require.Less(t, round, 10, "each time the wait was over before both instances were asked")
			var tenth time.Time
			for n := range 10 {
				tenth = time.Now()
				require.Equal(t, http.StatusBadRequest, login(all[n%2], "demouser", "wrong", fmt.Sprint("10.0.0.", n)).Code)
			}
			one, two := login(all[0], "demouser", password, "10.0.1.1").Code, login(all[1], "demouser", password, "10.0.1.1").Code
			if time.Since(tenth) < 5*time.Second {
				require.Equal(t, []int{http.StatusBadRequest, http.StatusBadRequest}, []int{one, two}, "the user has to wait")
				break
			}
			require.Eventually(t, func() bool { // the machine was slower than the wait: once more
				return login(all[0], "demouser", password, "10.0.1.1").Code == http.StatusOK
			}, time.Minute, 100*time.Millisecond)
		}
		for _, p := range all {
			require.Equal(t, http.StatusOK, login(p, "demodeveloper", password, "10.0.1.1").Code)
		}
	})
}

func TestProvider_rightPasswordForgetsWrongOnesAtAllInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		all := openAll(t, 2, func() storage.Documents { return docs }, known)
		for n := range 9 {
			login(all[n%2], "demouser", "wrong", "10.0.0.1")
		}
		require.Equal(t, http.StatusOK, login(all[1], "demouser", password, "10.0.0.1").Code)
		for range 9 {
			login(all[0], "demouser", "wrong", "10.0.0.1")
		}
		require.Equal(t, http.StatusOK, login(all[0], "demouser", password, "10.0.0.1").Code, "nine in a row are no reason to wait")

		for n := range 10 {
			login(all[n%2], "demouser", "wrong", "10.0.0.1")
		}
		require.Equal(t, http.StatusBadRequest, login(all[0], "demouser", password, "10.0.0.1").Code)
		time.Sleep(5 * time.Second)
		require.Equal(t, http.StatusOK, login(all[1], "demouser", password, "10.0.0.1").Code)
		require.Equal(t, http.StatusOK, login(all[0], "demouser", password, "10.0.0.1").Code, "the wait is over here as well")
	})
}

func TestProvider_wrongPasswordsForManyNamesTakeFewDocuments(t *testing.T) {
	const most = 64 // documents
	docs := storage.NewMemoryDocuments()
	p := open(t, func(c *devidp.Config) { c.Documents = docs })
	for n := range most + 1 {
		login(p, fmt.Sprint("unknown", n), "wrong", fmt.Sprint("10.1.0.", n))
	}
	count := 0
	for doc, err := range storage.All(t.Context(), docs, "attempts/") {
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(doc.Key, "attempts/unknown/"), doc.Key)
		count++
	}
	require.LessOrEqual(t, count, most)
	require.Equal(t, http.StatusOK, login(p, "demouser", password, "10.0.0.1").Code)
}

func TestProvider_codes_leftByOthersAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		all := openAll(t, 2, func() storage.Documents { return docs }, known)
		gone := &surf{all[0], map[string]string{}}
		for range 5 {
			gone.code(t, "public-frontend", "demouser")
		}
		stays := &surf{all[1], map[string]string{}}
		stays.code(t, "public-frontend", "demouser")
		time.Sleep(10 * time.Minute)
		stays.code(t, "public-frontend", "demouser")
		count := 0
		for _, err := range storage.All(t.Context(), docs, "code/") {
			require.NoError(t, err)
			count++
		}
		require.Equal(t, 1, count)
	})
}

func TestProvider_sessionsOfAllInstancesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := storage.NewMemoryDocuments()
		all := openAll(t, 2, func() storage.Documents { return docs }, known, func(c *devidp.Config) { c.Sessions = 4 })
		for range 4 {
			require.Equal(t, http.StatusOK, login(all[0], "demouser", password, "10.0.0.1").Code)
		}
		time.Sleep(10 * time.Minute)
		for range 4 {
			require.Equal(t, http.StatusOK, login(all[1], "demouser", password, "10.0.0.1").Code)
		}
		count := 0
		for _, err := range storage.All(t.Context(), docs, "session/") {
			require.NoError(t, err)
			count++
		}
		require.Equal(t, 4, count)
	})
}
