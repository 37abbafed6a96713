"""One HTML page that shows what was learned, in a single file."""

from likewise.report._charts import gray_image
from likewise.report._matches import write_match_report
from likewise.report._write import check_report_path, write_report

__all__ = ["check_report_path", "gray_image", "write_match_report", "write_report"]
