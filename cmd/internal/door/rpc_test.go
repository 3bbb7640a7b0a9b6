package door_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestDoor_Admit_tellsWhatIsMissing(t *testing.T) {
	reader := access.NewToken(access.Identity{Name: "hospital-7", Role: httpapi.Reader}, "a token of a hospital")
	d, _ := open(t, "127.0.0.1:0", door.Config{Tokens: []*access.TokenFile{reader}})
	admit := func(token string, role httpapi.Role) (text string, status int) {
		name, err := d.Admit(t.Context(), access.Credentials{Address: "192.0.2.1:5", Token: token}, role)
		if err == nil {
			return name, http.StatusOK
		}
		var refused interface{ HTTPStatus() int }
		require.ErrorAs(t, err, &refused)
		return err.Error(), refused.HTTPStatus()
	}
	text, status := admit("a token of a hospital", httpapi.Reader)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "hospital-7", text)
	text, status = admit("a token of a hospital", httpapi.Operator)
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, `Not allowed: the role operator is required, and "hospital-7" has the role reader.`, text)
	text, status = admit("", httpapi.Reader)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "A token is required, as Authorization: Bearer TOKEN.", text)
	for range 10 {
		text, status = admit("a wrong token", httpapi.Reader)
		require.Equal(t, http.StatusUnauthorized, status)
		require.Equal(t, "The token is not valid.", text)
	}
	text, status = admit("another wrong token", httpapi.Reader)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, "There were too many failed attempts from this address. Try again in 1 s.", text)
}
