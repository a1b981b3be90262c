package sim

import "net/http"

func minimaxBase(code int, message string) map[string]any {
	return map[string]any{"status_code": code, "status_msg": message}
}

// MiniMax answers 200 to every request and reports errors in base_resp.
func minimaxError(code int, message string) reply {
	return ok(map[string]any{"task_id": "", "base_resp": minimaxBase(code, message)})
}

var minimaxRefusals = refusals{
	faultPolicy:  minimaxError(1026, "input new_sensitive"),
	faultInvalid: minimaxError(2013, "invalid params, resolution is not supported"),
	faultBusy:    minimaxError(1002, "rate limit"),
	faultUnpaid:  minimaxError(1008, "insufficient balance"),
	faultError:   minimaxError(1000, "unknown error"),
	faultDown:    fail(http.StatusServiceUnavailable, map[string]any{"base_resp": minimaxBase(1001, "timeout")}),
}

func (s *Server) minimaxRoutes() {
	s.handle("POST /minimax/v1/video_generation", bearer, minimaxRefusals.or(func(e *exchange) reply {
		return reply{
			status: http.StatusOK, charged: true,
			json: map[string]any{"task_id": e.submit("").id(), "base_resp": minimaxBase(0, "success")},
		}
	}))
	s.handle("GET /minimax/v1/query/video_generation", bearer, refusals{faultDown: minimaxRefusals[faultDown]}.or(minimaxQuery))
	s.handle("GET /minimax/v1/files/retrieve", bearer, minimaxFile)
	s.minimaxTaskRoutes()
}

func minimaxQuery(e *exchange) reply {
	t, found := e.ticket()
	switch {
	case !found:
		return minimaxError(2013, "invalid params, task_id")
	case !t.finished(e.now):
		return ok(map[string]any{"task_id": t.id(), "status": "Processing", "file_id": "", "base_resp": minimaxBase(0, "success")})
	case t.Fault == faultPolicy:
		return ok(map[string]any{"task_id": t.id(), "status": "Fail", "file_id": "", "base_resp": minimaxBase(1027, "output new_sensitive")})
	case t.Fault != "":
		return ok(map[string]any{"task_id": t.id(), "status": "Fail", "file_id": "", "base_resp": minimaxBase(1000, "unknown error")})
	}
	return ok(map[string]any{
		"task_id": t.id(), "status": "Success", "file_id": t.id(), "video_width": 1366, "video_height": 768,
		"base_resp": minimaxBase(0, "success"),
	})
}

func minimaxFile(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return minimaxError(2013, "invalid params, file_id")
	}
	return ok(map[string]any{
		"file": map[string]any{
			"file_id": t.id(), "bytes": len(film(t.Seed)), "created_at": t.Ready / 1000, "filename": "output.mp4",
			"purpose": "video_generation", "download_url": e.file(t.Seed, "mp4"),
		},
		"base_resp": minimaxBase(0, "success"),
	})
}
