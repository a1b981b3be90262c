package durability_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Both workers are killed while a batch of uploads is being recorded as verified: its transaction waits for a row that
// the test holds. Whatever becomes of that transaction, another worker ends the batch, and nothing is recorded twice.
func TestWorkersMayBeKilledInTheMiddleOfABatchOfUploads(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, c.stack.DatabaseURL)
	require.NoError(t, err)
	defer conn.Close(ctx)
	c.freeze()
	assets := c.uploadTogether("batch", 12)
	_, err = conn.Exec(ctx, `begin`)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, `select from files for update`)
	require.NoError(t, err)
	c.thaw()
	watch, err := pgx.Connect(ctx, c.stack.DatabaseURL)
	require.NoError(t, err)
	defer watch.Close(ctx)
	count := func(query string) (n int) {
		require.NoError(t, watch.QueryRow(ctx, query).Scan(&n))
		return n
	}
	c.until("a batch is being recorded", func() bool {
		return count(`select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like 'update files set ingest_since%'`) > 0
	})
	for _, w := range c.workers {
		w.kill()
	}
	_, err = conn.Exec(ctx, `rollback`)
	require.NoError(t, err)
	for _, w := range c.workers {
		w.start()
	}
	c.until("every upload is looked into", func() bool { return count(`select count(*) from files where ingest_since is not null`) == 0 })
	require.Equal(t, len(assets), count(`select count(*) from events where type = 'asset.verified.v1' and (data->>'ok')::boolean
		and data->'scan'->>'verdict' is not null`))
	require.Less(t, count(`select count(distinct coalesce(data->>'workflow', stream)) from events where type = 'asset.verified.v1'`),
		len(assets))
}

// uploadTogether uploads small files at once and returns the assets.
func (s *service) uploadTogether(name string, count int) []string {
	s.t.Helper()
	ids := make([]string, count)
	var group errgroup.Group
	for i := range ids {
		group.Go(func() (err error) {
			ids[i], err = s.uploadText(fmt.Sprintf("%s/%d.txt", name, i))
			return err
		})
	}
	require.NoError(s.t, group.Wait())
	return ids
}

// uploadText uploads a file whose content is its path, and returns the asset.
func (s *service) uploadText(path string) (string, error) { return s.uploadAs("", path, path) }

// uploadAs uploads a text with the key of an account, and returns the asset.
func (s *service) uploadAs(key, path, content string) (string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, field := range [][2]string{{"content_type", "text/plain"}, {"file_path", path}, {"file", content}} {
		if err := form.WriteField(field[0], field[1]); err != nil {
			return "", err
		}
	}
	if err := form.Close(); err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.base+"/api/v2/assets", &body)
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("X-API-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var a struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("%s: %w", resp.Status, err)
	}
	return a.ID, nil
}

var batchWorkflow = regexp.MustCompile(`ingest-batch-[0-9a-f-]{36}`)

// ingestedTogether uploads a few files at once and returns the workflow that looks into them.
func (s *service) ingestedTogether() string {
	s.t.Helper()
	var batch string
	s.until("several uploads are verified by one workflow", func() bool {
		assets := s.uploadTogether("together/"+uuid.NewString(), 3)
		var shown string
		s.until("an upload is verified", func() bool {
			shown = s.command("assets", "show", assets[0], "--json")
			return strings.Contains(shown, `"verdict"`)
		})
		batch = batchWorkflow.FindString(shown)
		return batch != ""
	})
	return batch
}
