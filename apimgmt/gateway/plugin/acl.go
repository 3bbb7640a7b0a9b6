package plugin

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// ACL is the kind "acl": it lets callers of some groups pass only. The groups of a
// caller with a token are its realm roles; those of a consumer are its tags that
// begin with "group:", without that.
//
//	allow               the groups that may pass, or
//	deny                those that may not
//	hide_groups_header  whether X-Consumer-Groups is left out of the request to the service
func ACL() gateway.Kind {
	return configured(gateway.Kind{
		Name:       "acl",
		Summary:    "only some groups may call",
		Priority:   950,
		NoConsumer: true,
	}, nil, compileACL)
}

type acl struct {
	Allow            []string `json:"allow" about:"Groups that may pass; either these or those below"`
	Deny             []string `json:"deny" about:"Groups that may not pass"`
	HideGroupsHeader bool     `json:"hide_groups_header" about:"The service does not see the groups"`
}

func compileACL(c *acl, _ gateway.Setup) (gateway.Plugin, error) {
	if (len(c.Allow) == 0) == (len(c.Deny) == 0) {
		return gateway.Plugin{}, errors.New("config.allow: either allow or deny is required, not both")
	}
	return gateway.Plugin{Access: c.access}, nil
}

func (c *acl) access(x *gateway.Exchange) *gateway.Answer {
	removeIdentity(x)
	who := x.Identity()
	if who.Consumer == nil && who.Subject == "" {
		return gateway.Refuse(http.StatusUnauthorized, "Unauthorized")
	}
	groups := callerGroups(who)
	in := func(group string) bool { return slices.Contains(groups, group) }
	if (len(c.Allow) > 0 && !slices.ContainsFunc(c.Allow, in)) || slices.ContainsFunc(c.Deny, in) {
		return gateway.Refuse(http.StatusForbidden, "You cannot consume this service")
	}
	if !c.HideGroupsHeader && len(groups) > 0 {
		x.Upstream().Header["X-Consumer-Groups"] = []string{fieldValue(strings.Join(groups, ", "))}
	}
	return nil
}

func callerGroups(who gateway.Identity) []string {
	var groups []string
	if claims, ok := who.Claims.(*oidc.Claims); ok {
		groups = append(groups, claims.Roles...)
	}
	if who.Consumer != nil {
		for _, tag := range who.Consumer.Tags {
			if group, ok := strings.CutPrefix(tag, "group:"); ok && group != "" {
				groups = append(groups, group)
			}
		}
	}
	return groups
}
