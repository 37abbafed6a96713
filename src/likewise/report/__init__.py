"""One HTML page that shows what was learned, in a single file."""

from likewise.report._charts import png_address
from likewise.report._write import check_report_path, write_report

__all__ = ["check_report_path", "png_address", "write_report"]
