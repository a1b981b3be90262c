package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Grant is what the members of a group may do.
type Grant struct {
	Role    Role
	Account string // id or name; "" = an operator without an account
}

// Rule grants something to a group.
type Rule struct {
	Group string // as the provider names it; Everyone = every person whom the domains allow
	Grant
}

// Everyone stands for a group that everybody belongs to.
const Everyone = "*"

// Rules are grants in order of precedence.
type Rules []Rule

// ParseRules parses a list such as "ops=operator, artists=member:studio, *=viewer:studio". A service with accounts of its
// own needs an account for viewers and members; without, everybody has the only account, local. A grant for everyone needs
// domains: without them it would let in anybody who has an account at the provider.
func ParseRules(list, local string, domains []string) (Rules, error) {
	var rules Rules
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		at := strings.LastIndex(part, "=") // a group may be a path or a distinguished name
		if at < 1 {
			return nil, fmt.Errorf("grants are a list such as ops=operator,artists=member:studio, not %q", part)
		}
		role, owner, named := strings.Cut(part[at+1:], ":")
		rule := Rule{Group: strings.TrimSpace(part[:at]), Grant: Grant{Role: Role(role), Account: owner}}
		switch rule.Role {
		case Viewer, Member, Operator:
		default:
			return nil, fmt.Errorf("the role of group %q is viewer, member or operator, not %q", rule.Group, role)
		}
		switch {
		case rule.Group == Everyone && len(domains) == 0:
			return nil, errors.New("a grant for everyone (*) needs MILLRACE_OIDC_DOMAINS")
		case named && owner == "":
			return nil, fmt.Errorf("the grant of group %q names no account after the colon", rule.Group)
		case local != "" && named && owner != local:
			return nil, fmt.Errorf("group %q cannot have the account %q: this service has only the account %s", rule.Group, owner, local)
		case local != "":
			rule.Account = local
		case owner == "" && rule.Role != Operator:
			return nil, fmt.Errorf("the grant of group %q needs an account, as in %s=%s:ACCOUNT", rule.Group, rule.Group, role)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// Of returns the first grant of a member of groups; false if there is none.
func (r Rules) Of(groups []string) (Grant, bool) {
	for _, rule := range r {
		if rule.Group == Everyone || slices.Contains(groups, rule.Group) {
			return rule.Grant, true
		}
	}
	return Grant{}, false
}
