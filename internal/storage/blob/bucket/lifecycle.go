package bucket

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/lifecycle"
)

// Harmful returns, as texts, the rules of the bucket's lifecycle that would remove data of the store: only the
// store's own collector decides when a blob is no longer needed. Rules for unfinished uploads, earlier versions and
// damaged blobs are harmless.
func (s *Store) Harmful(ctx context.Context) ([]string, error) {
	rules, err := s.client.GetBucketLifecycle(ctx, s.opts.Bucket)
	if minio.ToErrorResponse(err).Code == "NoSuchLifecycleConfiguration" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lifecycle of bucket %s: %w", s.opts.Bucket, err)
	}
	var harmful []string
	for _, rule := range rules.Rules {
		if does := s.harm(rule); does != "" {
			harmful = append(harmful, fmt.Sprintf("rule %q %s", rule.ID, does))
		}
	}
	return harmful, nil
}

// harm returns the effect of a rule on objects of the store, or "" if it has none.
func (s *Store) harm(rule lifecycle.Rule) string {
	filter := rule.RuleFilter
	prefix := cmp.Or(rule.Prefix, filter.Prefix, filter.And.Prefix)
	tagged := !filter.Tag.IsEmpty() || len(filter.And.Tags) > 0 // objects of the store have no tags
	if !strings.EqualFold(rule.Status, "Enabled") || tagged || !s.holds(prefix) {
		return ""
	}
	expires := !rule.Expiration.IsDaysNull() || !rule.Expiration.IsDateNull() || rule.Expiration.DeleteAll.IsEnabled()
	switch class := rule.Transition.StorageClass; {
	case expires:
		return fmt.Sprintf("expires objects below %q", prefix)
	case class == "GLACIER" || class == "DEEP_ARCHIVE": // objects of these classes cannot be read at once
		return fmt.Sprintf("moves objects below %q to %s, where they cannot be read", prefix, class)
	}
	return ""
}

// holds reports whether a prefix covers blobs or the markers of their last use.
func (s *Store) holds(prefix string) bool {
	for _, own := range []string{s.opts.Prefix + folder, s.opts.Prefix + markers} {
		if strings.HasPrefix(own, prefix) || strings.HasPrefix(prefix, own) {
			return true
		}
	}
	return false
}
